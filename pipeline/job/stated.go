package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// ErrRefused marks a certificate that does not hold for the model or the rows that it was checked against.
var ErrRefused = errors.New("refused")

// Stated returns the job that a certificate states. The job must be valid and in the form that a run writes, with
// known keys only, each given once, and with the defaults filled in.
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
