package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// scheme matches the beginning of an address, also of one that lacks a slash.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:/|s3:|https?:|gs:)/`)

// IsAddress reports whether a path is an address in a store, even one that cannot be read.
func IsAddress(path string) bool { return scheme.MatchString(path) }

// Join is [filepath.Join] for a folder that may be an address.
func Join(folder, name string) string {
	if IsAddress(folder) {
		return strings.TrimRight(folder, "/") + "/" + name
	}
	return filepath.Join(folder, name)
}

// Clean is [filepath.Clean]. From an address it removes slashes at the end.
func Clean(path string) string {
	if begin := scheme.FindString(path); begin != "" {
		return begin + strings.TrimRight(path[len(begin):], "/")
	}
	return filepath.Clean(path)
}

// Dir is [filepath.Dir] for a path that may be an address.
func Dir(path string) string {
	if IsAddress(path) {
		return path[:strings.LastIndexByte(path, '/')]
	}
	return filepath.Dir(path)
}

// Shown returns an address for messages, without any part that may be a secret.
func Shown(address string) string {
	kind := scheme.FindString(address)
	host, _, _ := strings.Cut(address[len(kind):], "/")
	if strings.Contains(host, "@") || kind != "s3://" && strings.ContainsAny(address, "?#") {
		return kind + "…"
	}
	return address
}

// Check returns an error if an address cannot be read. The error shows no secrets.
func Check(address string) error {
	if !strings.HasPrefix(address, "s3://") {
		return errors.New("only s3://BUCKET/PATH is read: copy the files, or mount the store")
	}
	bucket, key := bucketKey(address)
	if strings.Contains(bucket, "@") {
		return errors.New("an address with a user is refused, for outputs would show its secrets (credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or ~/.aws)")
	}
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return fmt.Errorf("%w: want s3://BUCKET/PATH", err)
	}
	return oneWay(key)
}

// CheckOutput returns an error if an address cannot be written to.
func CheckOutput(address string) error {
	if !strings.HasPrefix(address, "s3://") || strings.ContainsAny(address, "?#") {
		return errors.New("want a path of this machine or s3://BUCKET/PATH, without ? and #")
	}
	return Check(address)
}

// oneWay returns an error if a key has an empty name or a dot between slashes: as a path it would name another key.
func oneWay(key string) error {
	if key = strings.TrimSuffix(key, "/"); key == "." || key != "" && !fs.ValidPath(key) {
		return errors.New("its key has an empty name, a dot or two between slashes, or is no UTF-8; rename it")
	}
	return nil
}

// bucketKey splits the address of an object into bucket and key.
func bucketKey(address string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(address, "s3://"), "/")
	return bucket, key
}
