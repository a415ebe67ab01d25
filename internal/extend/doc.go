// Package extend has a source and a sink that are not part of the product, as an example of what the
// list "Where to add" of package pipeline asks for. They are compiled, and pass the contracts of their
// ports, with every test of the tree.
package extend
