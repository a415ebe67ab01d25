package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// tries is how often a request is tried. The library waits up to a second in between.
	tries = 8
	// patience is the time for a request, including all tries; slowest adds time for its bytes.
	patience = time.Minute
	// slowest is the lowest acceptable rate, in bytes a second.
	slowest = 256 << 10
	// credentialsTime bounds a request for credentials. Outside of AWS it gets no answer.
	credentialsTime = 5 * time.Second
)

// errChanged means that an object has changed since it was first seen.
var errChanged = errors.New("it has changed, or is gone, since it was first read; start again when nothing writes to it")

// A client makes requests to the store that the environment names.
type client struct {
	core     func() (minio.Core, error)
	tries    int
	patience time.Duration
}

func newClient(tries int, patience time.Duration) *client {
	return &client{core: sync.OnceValues(func() (minio.Core, error) { return connect(os.Getenv, tries) }), tries: tries, patience: patience}
}

// connect reads endpoint, region and credentials from the environment and files of AWS's tools.
func connect(env func(string) string, tries int) (minio.Core, error) {
	endpoint, secure := "s3.amazonaws.com", true
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	text := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"))
	if text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
			return minio.Core{}, errors.New("AWS_ENDPOINT_URL: want https://HOST or http://HOST:PORT, without a user, a path or a query")
		}
		endpoint, secure = u.Host, u.Scheme == "https"
	}
	elsewhere := env("AWS_WEB_IDENTITY_TOKEN_FILE") + env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") + env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if elsewhere != "" || text == "" && env("AWS_EC2_METADATA_DISABLED") != "true" {
		providers = append(providers, &credentials.IAM{})
	}
	chain := credentials.NewChainCredentials(providers)
	who, err := chain.GetWithContext(&credentials.CredContext{Client: &http.Client{Timeout: credentialsTime}})
	if err != nil { // the error may quote a file of secrets
		return minio.Core{}, errors.New("the credentials cannot be read: check AWS_* in the environment and ~/.aws")
	}
	if who.AccessKeyID == "" {
		chain = credentials.NewStaticV4("", "", "") // so that the library does not search for any again
	}
	core, err := minio.NewCore(endpoint, &minio.Options{
		Creds: chain, Secure: secure, MaxRetries: tries, Region: cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1"),
	})
	if err != nil {
		return minio.Core{}, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	return *core, nil
}

// do makes a request that transfers size bytes. Its errors name the address. Of the server's text
// they repeat only the name of the error.
func (c *client) do(ctx context.Context, address string, size int64, request func(ctx context.Context, store minio.Core, bucket, key string) error) error {
	store, err := c.core()
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	limit := c.patience + time.Duration(size/slowest)*time.Second
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bucket, key := bucketKey(address)
	err = request(within, store, bucket, key)
	of, answered := errors.AsType[minio.ErrorResponse](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		err = unsure{fmt.Errorf("no whole answer within %v", limit)}
	case !answered:
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		if !errors.Is(err, errChanged) {
			err = unsure{errors.New(err.Error())} // without io.EOF, which readers mistake for the end of the object
		}
	case of.StatusCode == http.StatusPreconditionFailed, of.Code == "ConditionalRequestConflict", of.Code == "OperationAborted":
		err = errChanged
	case of.Code == minio.NoSuchKey || of.StatusCode == http.StatusNotFound && of.Code != minio.NoSuchBucket:
		err = fs.ErrNotExist
	default:
		err = refusal(of)
	}
	return fmt.Errorf("%s: %w", address, err)
}

// refusal returns the error for a request that a server has refused.
func refusal(response minio.ErrorResponse) error {
	if response.StatusCode == 0 {
		return errors.New("the headers of the server's answer cannot be read")
	}
	hint := map[string]string{
		minio.AccessDenied:   " (hint: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the role of the machine)",
		minio.NoSuchBucket:   " (hint: there is no bucket of this name)",
		"ObjectParentIsFile": " (hint: a folder of the address is an object; choose another address, or remove it)",
	}[response.Code]
	name := response.Code
	if strings.ContainsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }) {
		name = "an unknown error"
	}
	err := fmt.Errorf("the server answers %d %s, %s%s", response.StatusCode, http.StatusText(response.StatusCode), name, hint)
	if response.StatusCode/100 == 5 {
		return unsure{err}
	}
	return err
}

// An unsure error does not show whether the request was done.
type unsure struct{ error }

func (c *client) head(ctx context.Context, address string) (*Info, error) {
	var at *Info
	err := c.do(ctx, address, 0, func(ctx context.Context, store minio.Core, bucket, key string) error {
		o, err := store.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		if err == nil && o.ETag == "" {
			err = errors.New("the server gives no ETag, by which a change would be detected; copy the file")
		}
		at = infoOf(address, &o)
		return err
	})
	return at, err
}

func infoOf(address string, o *minio.ObjectInfo) *Info {
	return &Info{name: path.Base(address), tag: o.ETag, mark: o.UserMetadata[markKey], size: o.Size, modified: o.LastModified}
}

// get fills p with the bytes of an object at offset from. It repeats the request if the answer breaks off.
func (c *client) get(ctx context.Context, address string, at *Info, p []byte, from int64) error {
	if len(p) == 0 {
		return nil
	}
	var opts minio.GetObjectOptions
	if err := errors.Join(opts.SetMatchETag(at.tag), opts.SetRange(from, from+int64(len(p))-1)); err != nil {
		return err
	}
	for n := 1; ; n++ {
		broken := false
		err := c.do(ctx, address, int64(len(p)), func(ctx context.Context, store minio.Core, bucket, key string) error {
			body, o, _, err := store.GetObject(ctx, bucket, key, opts)
			if err != nil {
				broken = ctx.Err() != nil
				return err
			}
			defer func() { _ = body.Close() }() // the body was read as far as needed
			switch {
			case o.ETag != at.tag:
				return errChanged
			case o.Size != int64(len(p)):
				return errors.New("the server sends no parts of it (HTTP ranges); copy the file")
			}
			if n, err := io.ReadFull(body, p); err != nil {
				broken = true
				return fmt.Errorf("%d of %d bytes came: %w", n, len(p), err)
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", address, errChanged)
		}
		if err == nil || !broken || n == c.tries || ctx.Err() != nil {
			return err
		}
	}
}

// markKey is the metadata key for the mark of the write that made an object.
const markKey = "Pacsgp"

// put writes an object if its ETag is still was, or if it does not exist and was is "", and returns
// the new ETag. If the object has another ETag, put returns [errChanged], unless mark shows that
// this write made it and its answer was lost. Equal bytes do not show that.
func (c *client) put(ctx context.Context, address, was string, data []byte, mark string) (tag string, err error) {
	sum := sha256.Sum256(data)
	err = c.do(ctx, address, int64(len(data)), func(ctx context.Context, store minio.Core, bucket, key string) error {
		opts := minio.PutObjectOptions{UserMetadata: map[string]string{markKey: mark}, DisableContentSha256: true} // sum is the SHA-256 of all data
		if was == "" {
			opts.SetMatchETagExcept("*")
		} else {
			opts.SetMatchETag(was)
		}
		written, err := store.PutObject(ctx, bucket, key, bytes.NewReader(data), int64(len(data)), "", hex.EncodeToString(sum[:]), opts)
		if tag = written.ETag; err == nil && tag == "" {
			err = errors.New("the server gives no ETag for what was written")
		}
		return err
	})
	if errors.Is(err, errChanged) || errors.Is(err, fs.ErrNotExist) {
		if at, fault := c.head(ctx, address); fault == nil && at.mark == mark {
			return at.tag, nil
		}
		return "", fmt.Errorf("%s: %w", address, errChanged)
	}
	return tag, err
}
