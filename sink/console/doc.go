// Package console shows folders of certificates in a browser: each certificate, series of them
// over time, and two of them beside each other. Pages are made on the server, with the sentences
// of [report.PageOf]; there is no script, and nothing is loaded from elsewhere. It writes no files.
//
// Certificates may come from anybody. Files are read up to a bounded size, and their content must
// have the digest in their name. Damaged ones are listed.
package console
