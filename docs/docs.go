// Package docs holds the pages that the program shows parts of.
package docs

import _ "embed"

// Job is the page about job files. Its tables say what each key means.
//
//go:embed reference/job.md
var Job string

// Schedule is the page about schedule files.
//
//go:embed reference/schedule.md
var Schedule string

// Score is the page about score files.
//
//go:embed reference/score.md
var Score string

// Watch is the page about watch files.
//
//go:embed reference/watch.md
var Watch string
