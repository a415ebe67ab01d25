package objects

import (
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// tries bounds the tries of a request. The waits between them double, from firstWait on.
	tries     = 8
	firstWait = 100 * time.Millisecond
	// pieceTime bounds one try of a request; it has at most mostPiece bytes.
	pieceTime = time.Minute
)

// transport keeps the connections of the process. A window is one request, so that there are as many
// at a time as columns.
var transport = &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout:   10 * time.Second,
	ResponseHeaderTimeout: 30 * time.Second,
	IdleConnTimeout:       30 * time.Second,
	MaxIdleConnsPerHost:   atOnce,
	MaxConnsPerHost:       atOnce,
	DisableCompression:    true,
}

// atOnce bounds the connections to a host.
const atOnce = 32

// A client makes requests, with repetitions.
type client struct {
	account   func() (*account, error) // for S3
	wait, one time.Duration            // before the second try, and for each
	plain, s3 *http.Client
}

func newClient(from func() (*account, error)) *client {
	return &client{
		account: sync.OnceValues(from), wait: firstWait, one: pieceTime,
		plain: &http.Client{Transport: transport},
		s3: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a signature is for one host
		}},
	}
}

// ErrChanged says that an object is not what it was when it was first seen.
var ErrChanged = errors.New("it has changed, or is gone, since it was looked at first; start again when nobody writes to it")

// A statusError is the refusal of a server.
type statusError struct {
	code   int
	name   string // of the error, by the server; "" if it has none
	region string // of the bucket, if the server tells
	hint   string
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.code, http.StatusText(e.code))
	if e.name != "" {
		text += ", " + e.name
	}
	return text + e.hint
}

// Is reports that an object does not exist.
func (e *statusError) Is(target error) bool {
	return target == fs.ErrNotExist && e.code == http.StatusNotFound
}

// A brief error passes, perhaps: a retry may help.
type brief struct{ error }

func (e brief) Unwrap() error { return e.error }

// A call is a request, as often as it is made.
type call struct {
	method, address string
	query           url.Values
	header          http.Header
	body            payload
}

// A payload is the body of a request.
type payload struct {
	data io.ReaderAt // nil: nothing
	size int64
	sum  string // SHA-256 in hexadecimal
}

// nothing is the sum of no bytes.
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// request makes a request to a server.
func (w call) request(ctx context.Context, at string) (*http.Request, error) {
	var body io.Reader
	if w.body.size > 0 {
		body = io.NewSectionReader(w.body.data, 0, w.body.size)
	}
	req, err := http.NewRequestWithContext(ctx, w.method, at, body)
	if err == nil {
		req.ContentLength = w.body.size
		maps.Copy(req.Header, w.header)
	}
	return req, err
}

// slowest is the rate, in bytes a second, below which sending a payload is given up.
const slowest = 256 << 10

// do makes a request until it succeeds, and gives the answer to use. Its errors are about the address.
func (c *client) do(ctx context.Context, w call, use func(*http.Response) error) error {
	for n, wait := 1, c.wait; ; n, wait = n+1, 2*wait {
		err := c.try(ctx, w, use)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, io.EOF) { // of a connection: readers take it for the end of the object
			err = brief{errors.New(err.Error())}
		}
		if _, again := errors.AsType[brief](err); !again || n == tries {
			if again {
				err = fmt.Errorf("%w, after %d tries", err, n)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", w.address, err)
			}
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (c *client) try(ctx context.Context, w call, use func(*http.Response) error) error {
	patience := c.one + time.Duration(w.body.size/slowest)*time.Second
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, who, err := c.request(within, w)
	if err != nil {
		return err
	}
	by := c.plain
	if who != nil {
		by = c.s3
	}
	resp, err := by.Do(req) //nolint:bodyclose // answer closes it
	if err == nil {
		err = answer(resp, who, use)
	} else if of, ok := errors.AsType[*url.Error](err); ok { // the address of a redirection may have a secret
		if err = of.Err; !untrusted(err) {
			err = brief{err}
		}
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return brief{fmt.Errorf("no whole answer within %v", patience)}
	}
	return err
}

// request makes a request; for S3 it is signed for the account.
func (c *client) request(ctx context.Context, w call) (*http.Request, *account, error) {
	if strings.HasPrefix(w.address, "s3://") {
		who, err := c.account()
		if err != nil {
			return nil, nil, err
		}
		req, err := who.request(ctx, w)
		return req, who, err
	}
	req, err := w.request(ctx, w.address)
	return req, nil, err
}

// answer gives a successful answer to use, and closes it.
func answer(resp *http.Response, who *account, use func(*http.Response) error) (err error) {
	defer func() { _ = resp.Body.Close() }() // what matters of it was read
	if resp.StatusCode/100 == 2 {
		return use(resp)
	}
	e := &statusError{code: resp.StatusCode, region: resp.Header.Get("X-Amz-Bucket-Region")}
	var said struct{ Code string }
	if xml.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&said) == nil && plainName.MatchString(said.Code) {
		e.name = said.Code // its message may quote anything
	}
	if who != nil {
		e.hint = who.hint(e)
	}
	switch e.code {
	case http.StatusPreconditionFailed:
		return ErrChanged
	case http.StatusConflict: // of two writes at a time, but for what has another name
		if e.name == "" || e.name == "ConditionalRequestConflict" || e.name == "OperationAborted" {
			return brief{e}
		}
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return brief{e}
	}
	return e
}

// untrusted reports whether an error is the refusal of a server's certificate, which stays.
func untrusted(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}

var plainName = regexp.MustCompile(`^[A-Za-z]{1,60}$`)
