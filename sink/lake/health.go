package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
)

// Damaged returns why the current model of an output cannot be used; nil if it can, or if there is none.
// It reads the whole file of the model. Outputs in a store are not checked.
func Damaged(folder string) error {
	if objects.IsAddress(folder) {
		return nil
	}
	p, err := ReadPointer(nil, folder)
	if err != nil || p == nil {
		return err
	}
	path := filepath.Join(folder, ModelName(p.Model))
	f, _, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the current model cannot be used: %s is missing", path)
	}
	sum := sha256.New()
	if err == nil {
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
	}
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != p.Model {
		err = fmt.Errorf("%s is damaged: its content is not what its name says", path)
	}
	if err != nil {
		return fmt.Errorf("the current model cannot be used: %w", err)
	}
	return nil
}
