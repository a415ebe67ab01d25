package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// An About says what the predictions in a folder are about: it keeps the certificate of the first
// model that predicted there, in a file that readers of a lake skip. The name of the file has the
// certificate's id, which reveals damage.
type About struct {
	fs     durable.FS
	folder string

	mu sync.Mutex // guards at
	at string     // path of the certificate; "": none yet
}

const (
	aboutPrefix = "_certificate-"
	again       = "hint: to begin again, choose another output, or remove %s and, unless both are to be in one folder, the predictions"
)

// ReadAbout returns the About of a folder and its certificate, nil if there are no predictions.
func ReadAbout(ctx context.Context, fsys durable.FS, folder string) (*About, *certify.Certificate, error) {
	a := &About{fs: fsys, folder: folder}
	names, err := fsys.List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var found *certify.Certificate
	for _, name := range names {
		if !strings.HasPrefix(name, aboutPrefix) {
			continue
		}
		path := filepath.Join(folder, name)
		c, err := readCertificate(ctx, fsys, path)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err == nil && found != nil {
			err = fmt.Errorf("%s is another certificate than %s", path, a.at)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: it does not say what the predictions in %s are about: %w ("+again+")", job.ErrRefused, folder, err, path)
		}
		found, a.at = &c, path
	}
	return a, found, nil
}

// Says returns the end of a sentence: where the certificate is, and how to begin again; "" if there
// is none yet.
func (a *About) Says() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == "" {
		return ""
	}
	return fmt.Sprintf(", says %s ("+again+")", a.at, a.at)
}

// keep writes the certificate of the predicting model, unless the folder has one.
func (a *About) keep(c certify.Certificate) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at != "" {
		return nil
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return err
	}
	path := filepath.Join(a.folder, "_"+CertificateName(digest.Of(document)))
	if err := durable.WriteFile(a.fs, path, document); err != nil {
		return err
	}
	a.at = path
	return nil
}
