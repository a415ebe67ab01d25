// Package docs holds the pages that the program shows parts of.
package docs

import "embed"

// pages are those about job files and other ones. Their tables say what each key means.
//
//go:embed reference/job.md reference/schedule.md reference/score.md reference/watch.md
var pages embed.FS
