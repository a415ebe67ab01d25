package lake

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// signaturePrefix returns how the names of signatures of the certificate id begin.
func signaturePrefix(id string) string { return "signature-" + id + "-" }

// SignatureName returns the name of a signature of the certificate id. It has a digest of the
// signature, so that signatures by several keys are separate files.
func SignatureName(id string, signature []byte) string {
	return signaturePrefix(id) + digest.Of(signature)[:16] + ".json"
}

// Signatures reads the signatures of a certificate. A missing directory has none. An unreadable or
// too long file counts as an empty signature: it must not hide a good one.
func (o *Output) Signatures(id string) (all [][]byte, err error) {
	names, err := o.fs.List(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range signaturesOf(names, id) {
		data, fault := readAtMost(o.fs, o.Path(name), sign.MaxBytes)
		if fault != nil {
			data = nil
		}
		all = append(all, data)
	}
	return all, err
}

// signaturesOf returns the names of the signatures of a certificate, sorted.
func signaturesOf(names []string, id string) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool { return !strings.HasPrefix(name, signaturePrefix(id)) })
}
