package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// ErrRefused says that a certificate does not hold for the model or the rows
// that it was checked against.
var ErrRefused = errors.New("refused")

// Stated reads the job of a certificate. It must be valid and in the form that a run gives it:
// each key known and given once, with the defaults filled in.
func Stated(stated certify.Configuration) (Job, error) {
	var job Job
	decoder := json.NewDecoder(bytes.NewReader(stated.Values))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&job); err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	job, err := job.WithDefaults()
	if err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	digest, err := job.Digest()
	if err != nil {
		return job, err
	}
	if digest.String() != stated.Digest {
		return job, errors.New("the configuration is not in the form that a run gives it")
	}
	return job, nil
}
