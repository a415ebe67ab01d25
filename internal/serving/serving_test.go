package serving

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

func TestAnswers(t *testing.T) {
	var why error
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	s, err := Start(t.Context(), Config{Address: "127.0.0.1:0", Registry: registry, Ready: func() error { return why }, Pages: pages})
	fatal.If(t, err)
	defer s.Close()
	for _, c := range []struct {
		path   string
		why    error
		status int
		says   string
	}{
		{"/livez", errors.New("no broker"), 200, "ok"},
		{"/readyz", nil, 200, "ok"},
		{"/readyz", errors.New("no broker"), 503, "no broker"},
		{"/metrics", nil, 200, "# HELP"},
	} {
		why = c.why
		if status, text := servingtest.Get(t, s.URL+c.path); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", c.path, status, text, c.status, c.says)
		}
	}
}
