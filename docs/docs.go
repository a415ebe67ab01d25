// Package docs has the documents that the program quotes.
package docs

import "embed"

// pages are the reference pages about files. Their tables give the meaning of each key.
//
//go:embed reference/job.md reference/schedule.md reference/score.md reference/watch.md
var pages embed.FS
