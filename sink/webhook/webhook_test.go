package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// An event is a CloudEvent with the token; another answer than 2xx is an error, and none tells the URL.
func TestPost(t *testing.T) {
	status, body, header := http.StatusAccepted, "", http.Header{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, header = string(text), r.Header
		w.WriteHeader(status)
	}))
	token := filepath.Join(t.TempDir(), "token")
	fatal.If(t, os.WriteFile(token, []byte("a-token\n"), 0o600))
	h := Hook{URL: receiver.URL + "/secret-path", TokenFile: token}
	e := schedule.Event{ID: "1a-failed", Type: schedule.EventFailed, Job: "delays/night", Time: time.Date(2026, 5, 1, 2, 30, 0, 0, time.UTC), Run: 7, Why: "no rows"}
	fatal.If(t, h.Post(t.Context(), e))
	var got, want any
	fatal.If(t, json.Unmarshal([]byte(body), &got))
	fatal.If(t, json.Unmarshal([]byte(`{"specversion":"1.0","id":"1a-failed","source":"/pacsgp/schedule/delays%2Fnight","type":"pacsgp.failed","subject":"delays/night","time":"2026-05-01T02:30:00Z","datacontenttype":"application/json","data":{"run":7,"why":"no rows"}}`), &want))
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) || header.Get("Authorization") != "Bearer a-token" || !strings.HasPrefix(header.Get("Content-Type"), "application/cloudevents+json") {
		t.Errorf("got %s with %v, want %s", a, header, b)
	}
	status = http.StatusServiceUnavailable
	if err := h.Post(t.Context(), e); err == nil || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), "secret-path") {
		t.Errorf("the error is %v", err)
	}
	receiver.Close()
	if err := h.Post(t.Context(), e); err == nil || strings.Contains(err.Error(), "secret-path") {
		t.Errorf("the error is %v", err)
	}
}
