// Package extend has a source and a sink that are not part of the product. They are an example of
// the list "Where to add" of package pipeline. Tests compile them and run the contracts of their
// ports.
package extend
