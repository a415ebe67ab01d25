// Package kafkalog publishes artifacts to three topics of Kafka and reads them back.
//
//   - The topic of certificates is the audit trail, kept for ever: the key is the
//     certificate's id, the value its JSON document.
//   - The topic of models has their files, in pieces: the key is the file's SHA-256, a
//     slash and the number of the piece; headers give number, count and the SHA-256.
//   - The topic of pointers is compacted: the key is the name of a model, the value a
//     [Pointer] to its current certificate. It is what consumers follow. Where members of
//     a group share the partitions of the rows, each partition has a pointer: see [NameOf].
//
// All are byte for byte the files of a lake. A model is sent before its certificate, and
// that before the pointer, so that what is pointed to is complete. What was sent twice is
// recognised by its keys, and what is read is believed for its hash.
package kafkalog
