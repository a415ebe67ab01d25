package objects

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// scheme is the beginning of an address, or of what was to be one and lacks a slash.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:/|s3:|https?:|gs:)/`)

// oneSlash cuts the address that lacks a slash.
var oneSlash = regexp.MustCompile(`^(s3|https?|gs):/([^/].*)$`)

// meant returns an error for an address that lacks a slash.
func meant(address string) error {
	if m := oneSlash.FindStringSubmatch(address); m != nil {
		return fmt.Errorf("did you mean %s?", Shown(m[1]+"://"+m[2]))
	}
	return nil
}

// IsAddress reports whether a path is the address of something in a store, readable or not.
func IsAddress(path string) bool { return scheme.MatchString(path) }

// Join is filepath.Join of a folder and a name, for addresses too.
func Join(folder, name string) string {
	if IsAddress(folder) {
		return strings.TrimRight(folder, "/") + "/" + name
	}
	return filepath.Join(folder, name)
}

// Clean is filepath.Clean; an address has no slashes at its end.
func Clean(path string) string {
	if begin := scheme.FindString(path); begin != "" {
		return begin + strings.TrimRight(path[len(begin):], "/")
	}
	return filepath.Clean(path)
}

// Dir is filepath.Dir, for addresses too.
func Dir(path string) string {
	if IsAddress(path) {
		return path[:strings.LastIndexByte(path, '/')]
	}
	return filepath.Dir(path)
}

// Shown is an address for messages: without what may be a secret.
func Shown(address string) string {
	kind := scheme.FindString(address)
	host, _, _ := strings.Cut(address[len(kind):], "/")
	if strings.Contains(host, "@") || kind != "s3://" && strings.ContainsAny(address, "?#") {
		return kind + "…"
	}
	return address
}

// Check returns an error for an address that cannot be read. The error repeats no secret of it.
func Check(address string) error {
	if err := meant(address); err != nil {
		return err
	}
	kind, rest, _ := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch kind {
	case "s3":
		if strings.Contains(host, "@") {
			return errSecret
		}
		if err := s3utils.CheckValidBucketName(host); err != nil {
			return fmt.Errorf("%w: want s3://BUCKET/PATH", err)
		}
		return oneWay(path)
	default:
		return errors.New("only s3:// is read: copy the files, or mount the store")
	}
}

var errSecret = errors.New("an address with a user, a query or a fragment is not read: it would be in outputs with its secrets (credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or ~/.aws)")

// CheckOutput returns an error for an address that cannot be written to.
func CheckOutput(address string) error {
	if err := meant(address); err != nil {
		return err
	}
	if strings.ContainsAny(address, "?#") {
		return errSecret
	}
	if !strings.HasPrefix(address, "s3://") {
		return errors.New("want a path of this machine or s3://BUCKET/PATH: outputs in other stores are not written")
	}
	return Check(address)
}

// oneWay returns an error for a key with an empty name or a dot between slashes: as a path it would
// be that of another key.
func oneWay(key string) error {
	for name := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if key != "" && (name == "" || name == "." || name == "..") {
			return fmt.Errorf("its key has %q between slashes, which is no name of a folder or file; rename it", name)
		}
	}
	return nil
}

// bucketKey cuts the address of an object of S3.
func bucketKey(address string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(address, "s3://"), "/")
	return bucket, key
}
