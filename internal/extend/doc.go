// Package extend holds what a reader of package pipeline's list "Where to add" would write:
// a patch of the tree for each kind of thing that can be added. Its test applies each to a
// copy of the tree, and trains, certifies and verifies with what it adds.
package extend
