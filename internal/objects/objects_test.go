package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
func quick() *View {
	by := newClient(environment)
	by.wait, by.one = time.Millisecond, 300*time.Millisecond
	return newView(by)
}

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
	return b
}

// Whatever the order and the sizes of reads, their bytes are those of the object, by both ways to it
// and with and without reading ahead.
func TestReadsAreTheObject(t *testing.T) {
	s := objectstest.New(t)
	data := noise(9<<20 + 7)
	s.Put("a b/+ü%.parquet", data)
	s.Put("plain", data)
	for _, n := range []int{1, nearBytes + 1, smallObject} {
		s.Put("small", data[:n])
		b := open(t, quick(), s.Address("small"))
		s.Break(nil)
		check(t, b, data, n/2, n-n/2)
		check(t, b.Ahead([]Part{{0, int64(n)}}, 1)[0], data, 0, n/2)
		if s.Gets() != 1 {
			t.Errorf("%d requests for an object of %d bytes", s.Gets(), n)
		}
	}
	for _, address := range []string{s.Address("a b/+ü%.parquet"), s.Web("plain")} {
		b := open(t, quick(), address)
		if b.Size() != int64(len(data)) {
			t.Fatalf("%s: %d bytes, want %d", address, b.Size(), len(data))
		}
		const start, end = 100, 9 << 20
		order := rand.New(rand.NewPCG(1, 2))
		for _, readers := range []int{1, 40, 1000} {
			r := b.Ahead([]Part{{start, end}}, readers)[0]
			for at := start; at < end; {
				n := min(1+order.IntN(1<<order.IntN(23)), end-at)
				check(t, r, data, at, n)
				if order.IntN(20) == 0 {
					check(t, r, data, start+order.IntN(end-start-10), 10)
				}
				at += n
			}
		}
		for range 50 {
			check(t, b, data, order.IntN(len(data)-1000), order.IntN(1000))
		}
		check(t, b, data, 0, len(data))
		if n, err := b.ReadAt(make([]byte, 10), int64(len(data))-4); n != 4 || !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt over the end: %d, %v", n, err)
		}
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

// A part that is read in order is asked for once, in windows.
func TestReadingInOrderIsFewRequests(t *testing.T) {
	s := objectstest.New(t)
	s.Put("x", noise(4<<20))
	b := open(t, quick(), s.Address("x"))
	s.Break(nil)
	r := b.Ahead([]Part{{0, 4 << 20}}, 10)[0]
	for at := 0; at < 4<<20; at += 1 << 10 {
		_, err := r.ReadAt(make([]byte, 1<<10), int64(at))
		fatal.If(t, err)
	}
	if got, want := s.Gets(), int((4<<20+windowOf(10)-1)/windowOf(10)); got != want {
		t.Errorf("%d requests for %d windows", got, want)
	}
	// Parts that are near each other are asked for together, whatever their order, if they are small.
	s.Break(nil)
	data := noise(4 << 20)
	parts := []Part{{3 << 20, 4 << 20}, {10, 1 << 20}, {1<<20 + gap, 2 << 20}}
	for i, r := range b.Ahead(parts, 1) {
		p := parts[i]
		check(t, r, data, int(p.Start), int(p.End-p.Start))
		check(t, r, data, int(p.End)-10, 10)
	}
	if s.Gets() != 2 {
		t.Errorf("%d requests for two places", s.Gets())
	}
	for bytes, want := range map[int64]int64{5: 5 + 10*gap, 1 << 40: aheadBytes + 10*gap} {
		if m := AheadMemory(bytes, 10); m != want {
			t.Errorf("AheadMemory(%d, 10) = %d, want %d", bytes, m, want)
		}
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
		"slow down":           {status(503, "SlowDown", forEver), "503 Service Unavailable, SlowDown, after 8 tries", 8},
		"an object above":     {status(409, "ObjectParentIsFile", forEver), "409 Conflict, ObjectParentIsFile (hint: what should be a folder", 1},
		"writes at a time":    {status(409, "OperationAborted", 2), "", 3},
		"no bucket":           {status(404, "NoSuchBucket", forEver), "or is gone", 1},
		"bad request":         {status(400, "InvalidArgument", forEver), "400 Bad Request, InvalidArgument", 1},
		"forbidden":           {status(403, "AccessDenied", forEver), "403 Forbidden, AccessDenied", 1},
		"half of it":          {func(w http.ResponseWriter, _ *http.Request, n int) bool { return half(w, n, 3) }, "", 4},
		"always half of it":   {func(w http.ResponseWriter, _ *http.Request, n int) bool { return half(w, n, forEver) }, "50000 of 2000000 bytes came: unexpected EOF, after 8 tries", 8},
		"no answer": {func(_ http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 0 {
				panic(http.ErrAbortHandler)
			}
			return false
		}, "EOF, after 8 tries", 0},
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
	if _, err := b.ReadAt(make([]byte, 10), 0); err == nil || !strings.Contains(err.Error(), "connection refused, after 8 tries") {
		t.Errorf("error %v, want a refused connection", err)
	}
	v.client.wait = time.Hour
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
	at, err := v.Stat(t.Context(), s.Address("lake/day=2/a.parquet"))
	fatal.If(t, err)
	if at.Size() != int64(len("lake/day=2/a.parquet")) || at.IsDir() || at.Tag() != s.Tag("lake/day=2/a.parquet") {
		t.Errorf("Stat of a listed object: %d bytes, tag %s", at.Size(), at.Tag())
	}
	if _, err := v.Stat(t.Context(), s.Address("new")); err == nil || !strings.Contains(err.Error(), "403") {
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
	old, err := v.Stat(t.Context(), s.Address("lake/x"))
	fatal.If(t, err)
	s.Put("lake/x", []byte("newer"))
	_, err = v.ReadDir(t.Context(), s.Address("lake"))
	fatal.If(t, err)
	at, err := v.Stat(t.Context(), s.Address("lake/x"))
	fatal.If(t, err)
	if diff := cmp.Diff(old.Tag(), at.Tag()); diff != "" {
		t.Error(diff)
	}
	if _, err := open(t, v, s.Address("lake/x")).ReadAt(make([]byte, 3), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("reading an object that was replaced: %v, want ErrChanged", err)
	}
}

// A change cannot be noticed without a strong ETag.
func TestServersWithoutETags(t *testing.T) {
	s := objectstest.New(t)
	s.Put("x", []byte("1"))
	for _, tag := range []string{"", `W/"1"`} {
		s.Break(func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("ETag", tag)
			return true
		})
		if _, err := quick().Stat(t.Context(), s.Web("x")); err == nil || !strings.Contains(err.Error(), "no strong ETag") {
			t.Errorf("ETag %q: %v", tag, err)
		}
	}
}

// An address is refused with a reason, and one with a secret is not repeated.
func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"s3://rows/a/b.parquet":                  "",
		"s3://rows":                              "",
		"s3://rows/day=*/x?.parquet":             "",
		"https://host/a/b.parquet":               "",
		"s3://a/b":                               "shorter than 3",
		"s3:///b":                                "s3://BUCKET/PATH",
		"s3://rows/a//b":                         "between slashes",
		"s3://rows/a/../b":                       "between slashes",
		"s3://me:hunter2@rows/x":                 "an address with a user",
		"https://me:hunter2@host/x":              "an address with a user",
		"https://host/x?X-Amz-Signature=hunter2": "an address with a user",
		"https://host/*.parquet":                 "each file",
		"https://host":                           "https://HOST/PATH",
		"s3:/rows/a/b":                           "did you mean s3://rows/a/b?",
		"s3:/me:hunter2@rows/x":                  "did you mean s3://…?",
		"https:/host/x?hunter2":                  "did you mean https://…?",
		"gs://rows/x":                            "AWS_ENDPOINT_URL=https://storage.googleapis.com",
		"abfss://hunter2@account/x":              "only s3://",
	} {
		err := Check(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%s) = %v, want %q", address, err, want)
		}
		silent(t, err)
		silent(t, errors.New(Shown(address)))
		if !IsAddress(address) {
			t.Errorf("%s is taken for a path", address)
		}
	}
	for _, endpoint := range []string{"http://me:hunter2@host", "host:9000", "http://host/hunter2", "http://host?hunter2"} {
		_, err := accountOf(func(name string) string { return map[string]string{"AWS_ENDPOINT_URL": endpoint}[name] })
		if err == nil {
			t.Errorf("AWS_ENDPOINT_URL=%s is taken", endpoint)
		}
		silent(t, err)
	}
}

// Requests to AWS go to the host of the bucket, unless its name has dots.
func TestHostsOfAWS(t *testing.T) {
	a, err := accountOf(func(name string) string {
		return map[string]string{"AWS_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true"}[name]
	})
	fatal.If(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", objectstest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", objectstest.Secret)
	for address, want := range map[string]string{
		"s3://rows/a b":   "https://rows.s3.eu-central-1.amazonaws.com/a%20b",
		"s3://rows.old/a": "https://s3.eu-central-1.amazonaws.com/rows.old/a",
	} {
		req, err := a.request(t.Context(), call{method: http.MethodGet, address: address})
		fatal.If(t, err)
		if got := req.URL.String(); got != want || !strings.HasPrefix(req.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+objectstest.Key+"/") {
			t.Errorf("%s is asked for at %s, want %s, signed", address, got, want)
		}
	}
	for _, c := range []struct {
		of   statusError
		want string
	}{{statusError{code: 301, region: "us-west-2"}, "AWS_REGION=us-west-2"}, {statusError{code: 403}, ""}} {
		if got := a.hint(&c.of); fmt.Sprint(c.want == "", strings.Contains(got, c.want)) != fmt.Sprint(got == "", true) {
			t.Errorf("hint %q, want %q", got, c.want)
		}
	}
}
