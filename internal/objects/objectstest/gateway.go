package objectstest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A Gateway is versitygw, a real S3 server, with its objects in folders of the test. They survive Kill.
type Gateway struct {
	address, objects, tags string
	process                *exec.Cmd
}

// NewGateway starts a server with the credentials of [Environment]. If PACSGP_VERSITYGW is not set,
// the test is skipped; .ci/test builds the server.
func NewGateway(t testing.TB) *Gateway {
	t.Helper()
	if os.Getenv("PACSGP_VERSITYGW") == "" {
		fatal.Missing(t, "no object store: PACSGP_VERSITYGW is not set; make test-all sets it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	fatal.If(t, err)
	g := &Gateway{address: l.Addr().String(), objects: t.TempDir(), tags: t.TempDir()}
	fatal.If(t, l.Close())
	g.Start(t)
	t.Cleanup(g.Kill)
	g.put(t, "/"+Bucket, nil)
	return g
}

// Start starts the server, also after Kill.
func (g *Gateway) Start(t testing.TB) {
	t.Helper()
	g.process = exec.Command(os.Getenv("PACSGP_VERSITYGW"), "--quiet", "--keep-alive", "-p", g.address, "posix", "--sidecar", g.tags, g.objects) //nolint:gosec,noctx // Kill ends it
	g.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+Key, "ROOT_SECRET_KEY="+Secret)
	fatal.If(t, g.process.Start())
	for range 100 {
		if c, err := net.Dial("tcp", g.address); err == nil { //nolint:noctx // it is refused or accepted at once
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("versitygw does not answer")
}

// URL returns the endpoint of the server.
func (g *Gateway) URL() string { return "http://" + g.address }

// Folder returns the folder that has the objects as files.
func (g *Gateway) Folder() string { return filepath.Join(g.objects, Bucket) }

// Kill kills the server, like kill -9.
func (g *Gateway) Kill() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
}

// Put writes an object.
func (g *Gateway) Put(t testing.TB, key string, data []byte) {
	t.Helper()
	g.put(t, "/"+Bucket+"/"+key, data)
}

func (g *Gateway) put(t testing.TB, path string, data []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+g.address+path, bytes.NewReader(data))
	fatal.If(t, err)
	req.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	resp, err := http.DefaultClient.Do(signer.SignV4(*req, Key, Secret, "", "us-east-1"))
	fatal.If(t, err)
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("PUT %s: %s: %s", path, resp.Status, text)
	}
}

// Through returns the endpoint of a proxy of the server. The proxy calls each, after each piece of
// a response body, with the number of bytes of all bodies so far.
func (g *Gateway) Through(t testing.TB, each func(answered int64)) string {
	t.Helper()
	var answered atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: g.address})
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Body = counted{r.Body, func(n int) { each(answered.Add(int64(n))) }}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// counted is a body that reports how many bytes of it were read.
type counted struct {
	io.ReadCloser
	read func(n int)
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.read(n)
	return n, err
}
