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
	// Renamed has the names that a key of earlier builds has now.
	Renamed map[string][]string
	// Nearest is the known word that an unknown one is a misspelling of, or "".
	Nearest func(word string, known []string) string
}
