// Package console shows outputs in a browser: which model is current, what it promises, what new rows
// showed, and what came of the last runs. Pages are made on the server when they are asked for; there is
// no script, and nothing is loaded from elsewhere. It writes no files.
//
// Certificates may come from anybody. Files are read up to a bounded size, and their content must have
// the digest in their name.
package console
