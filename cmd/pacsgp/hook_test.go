package main

import (
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// hooked is the real file system under a hook that decides what becomes of every operation that
// changes something. It syncs nothing: a killed process loses nothing written, so that only the
// order of operations matters here. (Power cuts are tested in sink/lake.)
func hooked(hook func(op durabletest.Operation, effect func() error) error) durable.FS {
	return durabletest.Hooked{FS: durable.OS{}, Hook: func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Sync || op.Kind == durabletest.SyncDir {
			effect = func() error { return nil }
		}
		return hook(op, effect)
	}}
}

// plain lets everything happen.
func plain() durable.FS {
	return hooked(func(_ durabletest.Operation, effect func() error) error { return effect() })
}
