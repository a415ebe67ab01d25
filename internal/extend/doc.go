// Package extend has a source and a sink that are not part of the product. They are examples for the list "Where to
// add" of package pipeline. Tests compile them and run the contract tests of their ports.
package extend
