package yamlfile

// A Kind is a kind of YAML file: what its faults call it, and what only it knows of its
// keys.
type Kind struct {
	Name string // as in "the smallest job"
	Page string // that explains its keys
	Bad  string // begins every fault, as in "bad job"
	Err  error  // is what every fault wraps

	// Examples has values of sections, by key.
	Examples map[string]string
	// Nearest is the known word that an unknown one is a misspelling of, or "".
	Nearest func(word string, known []string) string
	// Misplaced names a section that refuses keys known elsewhere in the file; "" or nil: such keys
	// are unknown.
	Misplaced func(section string) string
	// Above is the key that a value comes from where this key has none, or ""; nil: there is
	// none.
	Above func(key string) string
}
