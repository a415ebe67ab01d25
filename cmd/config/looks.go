package config

import (
	"os"
	"path/filepath"
)

// looksLog is the log of looks at hold-out rows: beside the log of attempts that a job names, else
// in the user's folder of states, so that another output begins no new one. "" means that there
// is no place that lasts, as in a container.
func looksLog(attempts string, lookup func(string) (string, bool)) string {
	if attempts != "" {
		return attempts + ".looks"
	}
	if state, ok := lookup("XDG_STATE_HOME"); ok && filepath.IsAbs(state) {
		return filepath.Join(state, "pacsgp", "looks.jsonl")
	}
	home, ok := lookup("HOME")
	if !ok || !filepath.IsAbs(home) || contained(lookup) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "pacsgp", "looks.jsonl")
}

// contained reports whether the process runs in a container, whose files go with it.
func contained(lookup func(string) (string, bool)) bool {
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} {
		if _, ok := lookup(name); ok {
			return true
		}
	}
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
