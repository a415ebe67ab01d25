package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
)

// Latest returns the folder with the pointer of an output: the output itself, or that of the latest
// window of a stream that has a pointer.
func Latest(folder string) string {
	if _, err := os.Stat(filepath.Join(folder, CurrentFile)); err == nil || objects.IsAddress(folder) {
		return folder
	}
	for _, window := range slices.Backward(Published(folder)) {
		if _, err := os.Stat(filepath.Join(window, CurrentFile)); err == nil {
			return window
		}
	}
	return folder
}

// Published returns the folders of the published windows of a stream, the latest last.
func Published(folder string) (windows []string) {
	entries, _ := os.ReadDir(folder) // a folder that cannot be read has none
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), donePrefix) {
			windows = append(windows, filepath.Join(folder, e.Name()))
		}
	}
	slices.SortStableFunc(windows, func(a, b string) int { return len(a) - len(b) })
	return windows
}

// Damaged returns why the current model of an output cannot be used; nil if it can, or if there is none.
// It reads the whole file of the model. Outputs in a store are not checked.
func Damaged(folder string) error {
	if objects.IsAddress(folder) {
		return nil
	}
	folder = Latest(folder)
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
