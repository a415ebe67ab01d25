package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
)

// quick is a view that waits little.
func quick() *View { return newView(newClient(3, 2*time.Second)) }

func noise(n int) []byte {
	data := make([]byte, n)
	chacha := rand.NewChaCha8([32]byte{1})
	_, _ = chacha.Read(data)
	return data
}

func open(t *testing.T, v *View, address string) *Blob {
	t.Helper()
	b, err := v.Open(t.Context(), address)
	fatal.If(t, err)
	t.Cleanup(func() { fatal.If(t, b.Close()) })
	return b.(*Blob)
}

// Whatever the order and the sizes of reads, their bytes are those of the object, with and without
// readers of parts, which ask for what is read in order once.
func TestReadsAreTheObject(t *testing.T) {
	s := objectstest.New(t)
	data := noise(9<<20 + 7)
	s.Put("a b/+ü%.parquet", data)
	b := open(t, quick(), s.Address("a b/+ü%.parquet"))
	if b.Size() != int64(len(data)) {
		t.Fatalf("%d bytes, want %d", b.Size(), len(data))
	}
	const start, end = 100, 9 << 20
	order := rand.New(rand.NewPCG(1, 2))
	for _, jumps := range []bool{false, true} {
		s.Break(nil)
		r := b.Parts([]Part{{start, end}})[0]
		for at := start; at < end; {
			n := min(1+order.IntN(1<<order.IntN(23)), end-at)
			check(t, r, data, at, n)
			if jumps && order.IntN(20) == 0 {
				check(t, r, data, order.IntN(end-10), 10)
			}
			at += n
		}
		if want := (end - start + pieceBytes - 1) / pieceBytes; !jumps && s.Gets() != want {
			t.Errorf("%d requests for %d windows", s.Gets(), want)
		}
	}
	s.Break(nil)
	parts := []Part{{100, 3000}, {9 << 19, 9 << 20}, {3000, 70_000}, {100_000, 9 << 19}, {50, 200}, {9 << 20, 1 << 60}}
	readers := b.Parts(parts)
	for step := range int64(9 << 19 / 1000) {
		for i, p := range parts {
			if at := p.Start + step*1000; at < min(p.End, b.Size()) {
				check(t, readers[i], data, int(at), int(min(1000, p.End-at, b.Size()-at)))
			}
		}
	}
	if s.Gets() != 3 {
		t.Errorf("%d requests for six parts next to each other", s.Gets())
	}
	for range 50 {
		check(t, b, data, order.IntN(len(data)-1000), order.IntN(1000))
	}
	check(t, b, data, 0, len(data))
	if n, err := b.ReadAt(make([]byte, 10), int64(len(data))-4); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt over the end: %d, %v", n, err)
	}
}

func check(t *testing.T, r io.ReaderAt, data []byte, at, n int) {
	t.Helper()
	p := make([]byte, n)
	if got, err := r.ReadAt(p, int64(at)); got != n || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("ReadAt(%d bytes, %d) = %d, %v", n, at, got, err)
	}
	if !bytes.Equal(p, data[at:at+n]) {
		t.Fatalf("ReadAt(%d bytes, %d): other bytes", n, at)
	}
}

// Faults that pass are overcome; others are an error that names the object, and no secret.
func TestFaults(t *testing.T) {
	s := objectstest.New(t)
	status := func(code int, name string, upTo int) objectstest.Fault {
		return func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 0 || n > upTo {
				return false
			}
			objectstest.Refuse(w, code, name)
			return true
		}
	}
	half := func(w http.ResponseWriter, n, upTo int) bool {
		if n == 0 || n > upTo {
			return false
		}
		w.Header().Set("Content-Range", "bytes 0-1999999/2000000")
		w.Header().Set("ETag", s.Tag("x"))
		w.Header().Set("Content-Length", "2000000")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 50_000))
		panic(http.ErrAbortHandler)
	}
	const forEver = 1 << 30
	for name, c := range map[string]struct {
		fault objectstest.Fault
		want  string // "": it is overcome
		gets  int    // 0: some, for connections are tried again, too
	}{
		"two internal errors": {status(500, "InternalError", 2), "", 3},
		"slow down":           {status(503, "SlowDown", forEver), "503 Service Unavailable, SlowDown", 3},
		"an object above":     {status(409, "ObjectParentIsFile", forEver), "409 Conflict, ObjectParentIsFile (hint: a folder of the address", 1},
		"no bucket":           {status(404, "NoSuchBucket", forEver), "no bucket of this name", 1},
		"bad request":         {status(400, "InvalidArgument", forEver), "400 Bad Request, InvalidArgument", 1},
		"forbidden":           {status(403, "AccessDenied", forEver), "403 Forbidden, AccessDenied", 1},
		"half of it":          {func(w http.ResponseWriter, _ *http.Request, n int) bool { return half(w, n, 2) }, "", 3},
		"always half of it":   {func(w http.ResponseWriter, _ *http.Request, n int) bool { return half(w, n, forEver) }, "50000 of 2000000 bytes came: unexpected EOF", 3},
		"no answer": {func(_ http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 0 {
				panic(http.ErrAbortHandler)
			}
			return false
		}, "Connection closed", 0},
		"slow": {func(_ http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				<-r.Context().Done()
			}
			return false
		}, "", 2},
		"another object": {func(_ http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				s.Put("x", noise(2_000_001))
			}
			return false
		}, "has changed", 1},
		"another object without If-Match": {func(_ http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				s.Put("x", noise(2_000_001)[1:])
				r.Header.Del("If-Match")
			}
			return false
		}, "has changed", 1},
		"gone": {func(_ http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				s.Put("x", nil)
			}
			return false
		}, "or is gone", 1},
		"no ranges": {func(_ http.ResponseWriter, r *http.Request, _ int) bool { r.Header.Del("Range"); return false }, "no parts of it", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.Break(nil)
			data := noise(2_000_000)
			s.Put("x", data)
			b := open(t, quick(), s.Address("x"))
			s.Break(c.fault)
			p := make([]byte, 2_000_000)
			if name == "no ranges" {
				p = p[:1_999_999] // a whole object is no part
			}
			_, err := b.ReadAt(p, 0)
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(p, data)):
				t.Errorf("error %v, or other bytes", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s3://rows/x: ")):
				t.Errorf("error %v, want %q with the address", err, c.want)
			case errors.Is(err, io.EOF):
				t.Errorf("error %v is taken for the end of the object", err)
			case s.Gets() != c.gets && c.gets > 0:
				t.Errorf("%d requests, want %d", s.Gets(), c.gets)
			}
			silent(t, err)
		})
	}
}

func silent(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{objectstest.Key, objectstest.Secret, "hunter2"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("error %q has a secret", err)
		}
	}
}

// A server that is gone is an error in time, and an interrupt ends a wait for one.
func TestAServerThatIsGone(t *testing.T) {
	s := objectstest.New(t)
	s.Put("x", noise(1000))
	v := quick()
	ctx, cancel := context.WithCancel(t.Context())
	b, err := v.Open(ctx, s.Address("x"))
	fatal.If(t, err)
	s.Close()
	if _, err := b.ReadAt(make([]byte, 10), 0); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v, want a refused connection", err)
	}
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := b.ReadAt(make([]byte, 10), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	fatal.If(t, b.Close())
}

// Folders are the parts of keys between slashes; all that is below one is known after one listing,
// in pages.
func TestFolders(t *testing.T) {
	s := objectstest.New(t)
	for _, key := range []string{"lake/", "lake/day=1/a.parquet", "lake/day=1/b c+%ü.parquet", "lake/day=2/a.parquet", "lake/x.parquet", "other/y"} {
		s.Put(key, []byte(key))
	}
	v := quick()
	for _, c := range []struct {
		folder string
		want   string
	}{
		{"lake/", "day=1/ day=2/ x.parquet"}, {"lake/day=1", "a.parquet b c+%ü.parquet"}, {"", "lake/ other/"},
	} {
		entries, err := v.ReadDir(t.Context(), s.Address(c.folder))
		fatal.If(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name()+map[bool]string{true: "/"}[e.IsDir()])
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("ReadDir(%q) = %q, want %q", c.folder, got, c.want)
		}
	}
	s.Break(func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		objectstest.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	at, err := v.seen(t.Context(), s.Address("lake/day=2/a.parquet"))
	fatal.If(t, err)
	if at.Size() != int64(len("lake/day=2/a.parquet")) || at.IsDir() || at.Tag() != strings.Trim(s.Tag("lake/day=2/a.parquet"), `"`) {
		t.Errorf("Stat of a listed object: %d bytes, tag %s", at.Size(), at.Tag())
	}
	if _, err := v.seen(t.Context(), s.Address("new")); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("Stat without permission: %v", err)
	}
	s.Break(nil)
	if _, err := quick().Stat(t.Context(), s.Address("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of nothing: %v, want fs.ErrNotExist", err)
	}
	for key, want := range map[string]string{"bad/a//b": "between slashes", "both/a": "an object and a folder"} {
		s.Put(key, []byte("1"))
		s.Put(key+"/c", []byte("1"))
		folder, _, _ := strings.Cut(key, "/")
		if _, err := quick().ReadDir(t.Context(), s.Address(folder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadDir(%s): %v, want %q", folder, err, want)
		}
	}
}

// An object that a view has seen stays what it was, also when a listing comes later.
func TestTheFirstSightCounts(t *testing.T) {
	s := objectstest.New(t)
	s.Put("lake/x", []byte("old"))
	v := quick()
	old, err := v.seen(t.Context(), s.Address("lake/x"))
	fatal.If(t, err)
	s.Put("lake/x", []byte("newer"))
	_, err = v.ReadDir(t.Context(), s.Address("lake"))
	fatal.If(t, err)
	at, err := v.seen(t.Context(), s.Address("lake/x"))
	fatal.If(t, err)
	if diff := cmp.Diff(old.Tag(), at.Tag()); diff != "" {
		t.Error(diff)
	}
	if _, err := open(t, v, s.Address("lake/x")).ReadAt(make([]byte, 3), 0); !errors.Is(err, errChanged) {
		t.Errorf("reading an object that was replaced: %v, want errChanged", err)
	}
}

// An address is refused with a reason, and one with a secret is not repeated.
func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"s3://rows/a/b.parquet":                  "",
		"s3://rows":                              "",
		"s3://rows/day=*/x?.parquet":             "",
		"s3://a/b":                               "shorter than 3",
		"s3:///b":                                "s3://BUCKET/PATH",
		"s3://rows/a//b":                         "between slashes",
		"s3://rows/a/../b":                       "between slashes",
		"s3://me:hunter2@rows/x":                 "an address with a user",
		"https://me:hunter2@host/x":              "only s3://",
		"https://host/x?X-Amz-Signature=hunter2": "only s3://",
		"s3:/rows/a/b":                           "only s3://",
		"s3:/me:hunter2@rows/x":                  "only s3://",
		"https:/host/x?hunter2":                  "only s3://",
		"gs://rows/x":                            "only s3://",
		"abfss://hunter2@account/x":              "only s3://",
	} {
		err := Check(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%s) = %v, want %q", address, err, want)
		}
		if out := CheckOutput(address); (out == nil) != (err == nil && !strings.Contains(address, "?")) {
			t.Errorf("CheckOutput(%s) = %v", address, out)
		}
		silent(t, err)
		silent(t, errors.New(Shown(address)))
		if !IsAddress(address) {
			t.Errorf("%s is taken for a path", address)
		}
	}
	for _, endpoint := range []string{"http://me:hunter2@host", "host:9000", "http://host/hunter2", "http://host?hunter2"} {
		_, err := connect(func(name string) string { return map[string]string{"AWS_ENDPOINT_URL": endpoint}[name] }, 1)
		if err == nil {
			t.Errorf("AWS_ENDPOINT_URL=%s is taken", endpoint)
		}
		silent(t, err)
	}
}
