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

// An About is the record in a folder of predictions of what they are about: the certificate of the first model that
// predicted there. Readers of a lake skip its file. The file name has the certificate's id, which reveals damage.
type About struct {
	fs     durable.FS
	folder string

	mu sync.Mutex // guards at
	at string     // path of the certificate; empty before the first one
}

const (
	aboutPrefix = "_certificate-"
	again       = "hint: to begin again, choose another output, or remove %s and, unless both are to be in one folder, the predictions"
)

// ReadAbout reads the certificate in a folder of predictions. It is nil if there is none.
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

// Says returns the end of an error message: the path of the certificate, and how to begin again. It
// returns "" if the folder has no certificate.
func (a *About) Says() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == "" {
		return ""
	}
	return fmt.Sprintf(", says %s ("+again+")", a.at, a.at)
}

// keep writes the certificate of the predicting model, unless the folder already has a certificate.
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
