package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// options are the choices of a user.
type options struct {
	data, out, only, page       string
	start                       string
	reps, evaluations, inducing int
	write                       bool
}

// Those of the published experiments.
const (
	defaultEvaluations = 1000
	defaultInducing    = 500
)

// check finds what no experiment of the name can do.
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

// pathOf is the path of a file next to the page.
func (o options) pathOf(name string) string {
	return filepath.Join(filepath.Dir(o.page), "paper-"+name)
}

// paths are those of a file of results: in the folder for them and, with -write, next to the page.
func (o options) paths(file string) []string {
	all := []string{filepath.Join(o.out, file)}
	if o.write {
		all = append(all, o.pathOf(file))
	}
	return all
}

// command is the command that makes a section.
func (o options) command(name string) string {
	words := []string{"go -C bench run ./paper", name}
	if name == "exp" {
		words[1] = "exp-loss"
	}
	say := func(differs bool, format string, value any) {
		if differs {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	say(name != "snelson", "-reps %d", o.reps)
	say(o.evaluations != defaultEvaluations, "-evaluations %d", o.evaluations)
	say(o.inducing != defaultInducing, "-inducing %d", o.inducing)
	say(o.data != measured.Data(), "-data %s", o.data)
	say(o.start != "", "-start %s", o.start)
	say(o.only != "", "-only '%s'", o.only)
	return strings.Join(words, " ")
}
