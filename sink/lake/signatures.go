package lake

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// signaturePrefix begins the names of the signatures of the certificate id.
func signaturePrefix(id string) string { return "signature-" + id + "-" }

// SignatureName returns the name of a signature of the certificate id, by its content: those of
// several keys are side by side.
func SignatureName(id string, signature []byte) string {
	return signaturePrefix(id) + digest.Of(signature)[:16] + ".json"
}

// Signatures reads the signatures of a certificate; none if there is no directory. What is no file of a
// signature, but has the name of one, is empty: it must not stand in the way of a good one.
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
func signaturesOf(names []string, id string) (found []string) {
	for _, name := range names {
		if strings.HasPrefix(name, signaturePrefix(id)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
