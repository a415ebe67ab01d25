// Package kafkalog publishes artifacts to three topics of Kafka and reads them back.
//
//   - The topic of certificates is the audit trail, kept for ever: the key is the
//     certificate's id, the value its JSON document.
//   - The topic of models has their files in pieces: the key is the file's SHA-256, a slash
//     and the number of the piece; headers give the number, the count and the SHA-256.
//   - The topic of pointers is compacted: the key is the name of a model, the value a
//     [Pointer] to its current certificate. Consumers follow it. If members of a group
//     share the partitions of the rows, each partition has its own pointer: see [NameOf].
//
// Certificates and models are byte for byte the files of a lake. A model is sent before its
// certificate, and the certificate before the pointer, so that a pointer always names a complete
// artifact. Keys reveal duplicates; every hash is checked on reading.
package kafkalog
