package main

import (
	"fmt"
	"path/filepath"
	"slices"
)

// options are the values of the flags.
type options struct {
	data, out, only, page       string
	start                       string
	reps, evaluations, inducing int
	write                       bool
	command                     string // the command line, for the page
}

// Values of the published experiments.
const (
	defaultEvaluations = 1000
	defaultInducing    = 500
)

// check returns an error for values that the experiment cannot use.
func (o options) check(name string) error {
	switch {
	case o.reps < 1 || o.evaluations < 1:
		return fmt.Errorf("-reps %d -evaluations %d: want at least one of each", o.reps, o.evaluations)
	case o.inducing < 1:
		return fmt.Errorf("-inducing %d: want at least one", o.inducing)
	case name == "inducing" && o.inducing < 5:
		return fmt.Errorf("-inducing %d: want at least five, as the curves go by fifths", o.inducing)
	case !slices.Contains([]string{"", published, pretrained, minibatch}, o.start):
		return fmt.Errorf("-start %q: want %s, %s or %s", o.start, published, pretrained, minibatch)
	case slices.Contains([]string{"snelson", "overfit", "all"}, name) && (o.only != "" || o.start != "" || o.inducing != defaultInducing):
		return fmt.Errorf("%s is computed as a whole: -only, -start and -inducing are not for it", name)
	case (name == "inducing" || name == "discretisation") && o.write && o.only != "":
		return fmt.Errorf("%s is written whole: -write is not for a part of it", name)
	}
	return nil
}

// pathOf returns the path of a file next to the page.
func (o options) pathOf(name string) string {
	return filepath.Join(filepath.Dir(o.page), "paper-"+name)
}

// paths returns the paths to which a file of results is written: in the folder for results and, with -write,
// next to the page.
func (o options) paths(file string) []string {
	all := []string{filepath.Join(o.out, file)}
	if o.write {
		all = append(all, o.pathOf(file))
	}
	return all
}
