package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
)

func hasty() *Files { return newFiles(quick().client) }

// lost loses the answer of each nth write of an object, the first one included.
func lost(s *objectstest.Server, nth int) objectstest.Fault {
	var mu sync.Mutex
	writes := map[string]int{}
	return func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method != http.MethodPut && r.Method != http.MethodDelete {
			return false
		}
		mu.Lock()
		writes[r.URL.Path]++
		n := writes[r.URL.Path]
		mu.Unlock()
		if (n-1)%nth != 0 {
			return false
		}
		s.Write(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Files are whole, also if answers to writes are lost and the writes are made again.
func TestFilesAreWhole(t *testing.T) {
	s := objectstest.New(t)
	for name, fault := range map[string]objectstest.Fault{"": nil, "lost answers": lost(s, 2)} {
		s.Break(nil)
		f, dir := hasty(), s.Address("out"+strconv.Itoa(len(name)))
		s.Break(fault)
		fatal.If(t, f.MkdirAll(dir))
		if _, err := f.List(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("List of a folder that is not there: %v", err)
		}
		held, err := f.Lock(Join(dir, lockName))
		fatal.If(t, err)
		large := noise(mostWhole + 5)
		want := map[string][]byte{"a": []byte("new"), "large": large}
		_, err = f.Open(Join(dir, "a"))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of a file that is not there: %v", err)
		}
		p, err := durable.Stage(f, Join(dir, "a"), []byte("old"))
		fatal.If(t, err)
		if got := readAll(t, f, p.Name()); string(got) != "old" {
			t.Errorf("an unpublished file has %q", got)
		}
		fatal.If(t, p.Commit())
		fatal.If(t, durable.WriteFile(f, Join(dir, "a"), want["a"]))
		fatal.If(t, durable.WriteFile(f, Join(dir, "large"), large))
		fatal.If(t, durable.WriteFile(f, Join(dir, "gone"), nil))
		fatal.If(t, f.Remove(Join(dir, "gone")))
		fatal.If(t, held.Close())
		names, err := f.List(dir)
		fatal.If(t, err)
		if !slices.Equal(names, []string{lockName, "a", "large"}) {
			t.Errorf("%s: List = %q", name, names)
		}
		for file, data := range want {
			if got := readAll(t, f, Join(dir, file)); !bytes.Equal(got, data) {
				t.Errorf("%s: %s has %d bytes, %.20q", name, file, len(got), got)
			}
		}
		if len(f.temps) > 0 {
			t.Errorf("%d temporary files are left", len(f.temps))
		}
	}
}

func readAll(t *testing.T, f *Files, name string) []byte {
	t.Helper()
	data, err := content(f, name)
	fatal.If(t, err)
	return data
}

func content(f *Files, name string) ([]byte, error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// An object that another process has written since it was seen is not written, even if both write
// the same bytes.
func TestFilesDetectOtherWriters(t *testing.T) {
	s := objectstest.New(t)
	name := s.Address("out/numbers")
	for _, before := range [][]byte{nil, []byte("1")} {
		for what, then := range map[string]func(f *Files) error{
			"write": func(f *Files) error { return durable.WriteFile(f, name, []byte("2")) },
			"read": func(f *Files) error {
				_, err := f.Open(name)
				return err
			},
		} {
			s.Put("out/numbers", before)
			one, other := hasty(), hasty()
			for _, f := range []*Files{one, other} {
				_, err := f.Lock(name)
				fatal.If(t, err)
				if _, err := content(f, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
			fatal.If(t, durable.WriteFile(other, name, []byte("2")))
			if err := then(one); !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), name+": another process") {
				t.Errorf("%s after another process has written: %v, want ErrLocked", what, err)
			}
			if got := s.Content("out/numbers"); string(got) != "2" {
				t.Errorf("%s: %q is there", what, got)
			}
		}
	}
}

// An object that another program has put there, in parts, has an ETag that is not made of its content.
// It is read, and replaced.
func TestFilesOfOtherPrograms(t *testing.T) {
	s := objectstest.New(t)
	f, name := hasty(), s.Address("out/run.json")
	s.Put("out/run.json", []byte("restored"))
	s.Retag("out/run.json")
	held, err := f.Lock(s.Address("out/" + lockName))
	fatal.If(t, err)
	if got := readAll(t, f, name); !f.md5 || string(got) != "restored" {
		t.Errorf("read is %q; the store makes its ETags of contents: %t", got, f.md5)
	}
	fatal.If(t, errors.Join(durable.WriteFile(f, name, []byte("new")), held.Close()))
	if got := s.Content("out/run.json"); string(got) != "new" {
		t.Errorf("written is %q", got)
	}
}

// Of writers that race for numbers no two take the same one, though answers are lost, and
// with a real server, too.
func TestNoNumberIsTakenTwice(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		s := objectstest.New(t)
		s.Break(lost(s, 5))
		race(t)
	})
	t.Run("versitygw", func(t *testing.T) {
		g := objectstest.NewGateway(t)
		objectstest.Environment(t, g.URL())
		race(t)
	})
}

func race(t *testing.T) {
	t.Helper()
	const writers, each = 4, 10
	name := "s3://" + objectstest.Bucket + "/out/numbers"
	var mu sync.Mutex
	var taken []int
	var work sync.WaitGroup
	for range writers {
		work.Go(func() {
			f := newFiles(newClient(tries, patience))
			f.md5 = true // as .lock finds out
			for mine, began := 0, time.Now(); mine < each; {
				if time.Since(began) > time.Minute {
					t.Error("no number is free for a minute")
					return
				}
				lock, err := f.Lock(name)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := content(f, name)
				next, _ := strconv.Atoi(string(n)) // none is 0
				if err == nil || errors.Is(err, fs.ErrNotExist) {
					next++
					err = durable.WriteFile(f, name, []byte(strconv.Itoa(next)))
				}
				switch {
				case err == nil:
					mu.Lock()
					taken = append(taken, next)
					mu.Unlock()
					mine++
				case errors.Is(err, durable.ErrLocked): // another writer was faster, or is writing
				default:
					t.Error(err)
					return
				}
				fatal.If(t, lock.Close())
			}
		})
	}
	work.Wait()
	slices.Sort(taken)
	for i, n := range slices.Compact(slices.Clone(taken)) {
		// A write whose answer was lost, and which somebody has overwritten before it was made again,
		// has taken its number for no object.
		if n < i+1 {
			t.Errorf("number %d is the %dth", n, i+1)
		}
	}
	if len(slices.Compact(slices.Clone(taken))) != writers*each {
		t.Errorf("%d numbers for %d writes: %v", len(slices.Compact(taken)), writers*each, taken)
	}
}

// A store that ignores a condition is refused before anything is published there.
func TestStoresWithoutConditions(t *testing.T) {
	s := objectstest.New(t)
	for _, header := range []string{"If-Match", "If-None-Match"} {
		s.Break(func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Method == http.MethodPut {
				r.Header.Del(header)
			}
			return false
		})
		_, err := hasty().Lock(s.Address("out/" + lockName))
		if !errors.Is(err, errUnconditional) {
			t.Errorf("a store without %s: %v, want errUnconditional", header, err)
		}
		silent(t, err)
	}
	s.Break(nil)
	held, err := hasty().Lock(s.Address("out/" + lockName))
	fatal.If(t, err)
	fatal.If(t, held.Close())
}

// If it is unknown whether the last of some files was written, the others stay; if it was refused,
// none do.
func TestCommitAllInAStore(t *testing.T) {
	s := objectstest.New(t)
	for name, fault := range map[string]objectstest.Fault{
		"lost": func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			if strings.HasSuffix(r.URL.Path, "/last") {
				s.Write(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"refused": func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if strings.HasSuffix(r.URL.Path, "/last") && r.Method == http.MethodPut {
				objectstest.Refuse(w, http.StatusForbidden, "AccessDenied")
				return true
			}
			return false
		},
	} {
		s.Break(nil)
		f := hasty()
		var files []*durable.Pending
		for _, each := range []string{"first", "last"} {
			p, err := durable.Stage(f, s.Address(name+"/"+each), []byte(each))
			fatal.If(t, err)
			files = append(files, p)
			_, err = f.Lock(s.Address(name + "/" + each))
			fatal.If(t, err)
			_, err = f.Open(s.Address(name + "/" + each))
			if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		s.Break(fault)
		err := durable.CommitAll(files...)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		silent(t, err)
		there := fmt.Sprint(s.Content(name+"/first") != nil, s.Content(name+"/last") != nil)
		if want := map[string]string{"lost": "true true", "refused": "false false"}[name]; there != want {
			t.Errorf("%s: first and last are there: %s, want %s", name, there, want)
		}
	}
}

// An output is refused in a bucket that does not exist.
func TestNoBucket(t *testing.T) {
	s := objectstest.New(t)
	s.Break(func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		objectstest.Refuse(w, http.StatusNotFound, "NoSuchBucket")
		return true
	})
	if _, err := hasty().Lock(s.Address("out/" + lockName)); err == nil || !strings.Contains(err.Error(), "no bucket") {
		t.Errorf("Lock in a bucket that does not exist: %v", err)
	}
}
