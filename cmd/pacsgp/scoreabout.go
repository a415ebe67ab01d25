package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// An output of score keeps, under a name that readers of a lake pass over, the certificate
// of the first model that predicted there: it says, to each process that comes later, what
// the predictions are about. Its id is in its name, so that damage is found.
const aboutPrefix = "_certificate-"

// anew says how to have predictions of something else.
const anew = "hint: to begin anew, choose another output, or remove %s and, unless both are to stand in one folder, the predictions"

// readAbout returns the certificate that an output keeps, and where; nil: none predicted
// there.
func readAbout(ctx context.Context, output string) (*certify.Certificate, string, error) {
	names, err := realFiles().List(output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var found *certify.Certificate
	var at string
	for _, name := range names {
		if !strings.HasPrefix(name, aboutPrefix) {
			continue
		}
		path := filepath.Join(output, name)
		c, id, err := readCertificate(ctx, path)
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		switch {
		case err != nil: // it names the path
		case name != "_"+sinklake.CertificateName(id):
			err = fmt.Errorf("%s: its id is %s", path, id)
		case found != nil:
			err = fmt.Errorf("%s is another certificate than %s", path, at)
		}
		if err != nil {
			return nil, "", fmt.Errorf("%w: it does not say what the predictions in %s are about: %w ("+anew+")", pipeline.ErrRefused, output, err, path)
		}
		found, at = &c, path
	}
	return found, at, nil
}

// reads finds out what the predictions in a folder are about.
func (f *follower) reads(ctx context.Context, folder string) error {
	first, at, err := readAbout(ctx, folder)
	if err != nil || first == nil {
		return err
	}
	f.first = first
	f.about.Store(&at)
	f.means, err = subject(*first)
	return err
}

// keepAbout makes the certificate of the model that predicts the one that a folder keeps,
// if it keeps none.
func (f *follower) keepAbout(fsys durable.FS, folder string, current certify.Certificate) error {
	f.keeping.Lock()
	defer f.keeping.Unlock()
	if f.about.Load() != nil {
		return nil
	}
	document, err := certify.Marshal(current)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "_"+sinklake.CertificateName(hexOf(document)))
	file, err := durable.Create(fsys, path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if _, err := file.Write(document); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	f.about.Store(&path)
	return nil
}
