// Package console shows outputs in a browser: which model is current, what it promises, what came of
// the last runs, each certificate, series of them, and two beside each other. Pages are made on the server, with the sentences
// of [report.PageOf]; there is no script, and nothing is loaded from elsewhere. It writes no files.
//
// Certificates may come from anybody. Files are read up to a bounded size, and their content must
// have the digest in their name. Damaged ones are listed.
package console
