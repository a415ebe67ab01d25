// Package console shows folders of certificates in a browser: what they say, over time, and
// two of them beside each other. Pages are made on the server, with the sentences of
// [report.PageOf]; there is no script, and nothing is loaded from elsewhere. It reads, and
// writes nothing.
//
// Certificates may come from anybody. A file is read up to a size and must be what its name
// says; one that is damaged is shown as such.
package console
