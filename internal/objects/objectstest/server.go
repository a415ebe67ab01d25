// Package objectstest has an object store for tests: the part of S3 that is used here, over HTTP,
// with faults that tests choose.
package objectstest

import (
	"bytes"
	"crypto/md5" //nolint:gosec // as stores do
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Credentials. No output may show them.
const (
	Key    = "AKIAHUNTER2HUNTER2"
	Secret = "hunter2/secret"
)

// A Server is a store with one bucket.
type Server struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]object
	gets    int
	fault   Fault
}

type object struct {
	data []byte
	tag  string
	meta string
	at   time.Time
}

// A Fault may answer a request instead of the server, and returns whether it has done so. n counts
// the reads of objects from 1; it is 0 for other requests.
type Fault func(w http.ResponseWriter, r *http.Request, n int) bool

// Bucket is the bucket of a [Server].
const Bucket = "rows"

// perPage is the number of objects on a page of a list.
const perPage = 2

// New starts a server, and sets the environment to it until the test ends.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]object{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	Environment(t, s.URL)
	return s
}

// Environment sets the AWS variables for a store until the test ends.
func Environment(t testing.TB, endpoint string) {
	t.Helper()
	for name, value := range map[string]string{ //nolint:gosec // of no store
		"AWS_ENDPOINT_URL": endpoint, "AWS_ENDPOINT_URL_S3": "", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": Secret,
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_CONFIG_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

// Address returns the address of an object or folder.
func (s *Server) Address(key string) string { return "s3://" + Bucket + "/" + key }

// Put writes an object, or removes it if data is nil.
func (s *Server) Put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data == nil {
		delete(s.objects, key)
		return
	}
	s.objects[key] = object{data, fmt.Sprintf("\"%x\"", md5.Sum(data)), "", time.Now()} //nolint:gosec // as stores do
}

// Retag gives an object another ETag, as if the same bytes were written in other parts.
func (s *Server) Retag(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	o.tag = o.tag[:len(o.tag)-1] + `-2"`
	s.objects[key] = o
}

// Tag returns the ETag of an object.
func (s *Server) Tag(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].tag
}

// Break makes requests go through f first; nil removes the fault.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.gets = f, 0
}

// Gets returns the number of reads of objects since the last Break.
func (s *Server) Gets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	key, isObject := strings.CutPrefix(r.URL.Path, "/"+Bucket+"/")
	isObject = isObject && key != ""
	s.mu.Lock()
	n := 0
	if isObject && r.Method == http.MethodGet {
		s.gets++
		n = s.gets
	}
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r, n) {
		return
	}
	s.mu.Lock() // after the fault, which may have written objects
	o, found := s.objects[key]
	s.mu.Unlock()
	switch {
	case !isObject:
		s.list(w, r.URL.Query())
	case r.Method == http.MethodPut, r.Method == http.MethodDelete:
		s.Write(w, r)
	case !found:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", o.tag)
		w.Header().Set(metaHeader, o.meta)
		http.ServeContent(w, r, "", o.at, bytes.NewReader(o.data))
	}
}

const metaHeader = "X-Amz-Meta-Pacsgp"

// Write does a PUT or DELETE. A fault can call it and then break the connection, to lose the answer.
func (s *Server) Write(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	key := strings.TrimPrefix(r.URL.Path, "/"+Bucket+"/")
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.objects[key]
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != r.Header.Get("X-Amz-Content-Sha256"):
		Refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
	case match != "" && !found:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && match != o.tag, none == "*" && found:
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		o = object{data, fmt.Sprintf("\"%x\"", md5.Sum(data)), r.Header.Get(metaHeader), time.Now()} //nolint:gosec // as stores do
		s.objects[key] = o
		w.Header().Set("ETag", o.tag)
	}
}

// Keys returns the keys of all objects, sorted.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Content returns the content of an object, or nil if there is none.
func (s *Server) Content(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].data
}

// Refuse answers with an S3 error. Its message has the secret, as a bad server's may.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s %s</Message></Error>", code, Key, Secret)
}

func (s *Server) list(w http.ResponseWriter, query url.Values) {
	type entry struct {
		Key, ETag    string
		Size         int
		LastModified time.Time
	}
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string
		Contents              []entry
	}
	page.EncodingType = "url"
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, query.Get("prefix")) || key <= query.Get("continuation-token") {
			continue
		}
		if page.IsTruncated = len(page.Contents) == perPage; page.IsTruncated {
			break
		}
		o := s.objects[key]
		page.NextContinuationToken = key
		page.Contents = append(page.Contents, entry{url.QueryEscape(key), o.tag, len(o.data), o.at.UTC()})
	}
	_ = xml.NewEncoder(w).Encode(page)
}
