// Package webhook posts events of a schedule to a receiver, as CloudEvents 1.0 in JSON.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// A Hook is a receiver.
type Hook struct {
	URL       string
	TokenFile string // of the header Authorization: Bearer; "": none
}

// patience is how long an answer is waited for.
const patience = 10 * time.Second

// maxToken bounds the file of a token.
const maxToken = 4096

// cloudEvent is an event in the JSON format of CloudEvents.
type cloudEvent struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Data        data      `json:"data"`
}

type data struct {
	Run         uint64             `json:"run,omitempty"`
	Certificate string             `json:"certificate,omitempty"`
	Why         string             `json:"why,omitempty"`
	Test        *pipeline.RowsTest `json:"test,omitempty"`
}

// Post sends an event and waits for the answer. Any status but 2xx is an error. Errors do not name
// more of the URL than its host: the rest may be a secret.
func (h Hook) Post(ctx context.Context, e schedule.Event) error {
	text, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: "/pacsgp/schedule/" + url.PathEscape(e.Job), Type: "pacsgp." + string(e.Type), Subject: e.Job, Time: e.Time.UTC(),
		ContentType: "application/json", Data: data{e.Run, e.Certificate, e.Why, e.Test},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(text))
	if err != nil {
		return errors.New("webhook: its url cannot be parsed")
	}
	r.Header.Set("Content-Type", "application/cloudevents+json; charset=UTF-8")
	if h.TokenFile != "" {
		token, err := durable.ReadSmall(h.TokenFile, "a token", maxToken)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return fmt.Errorf("webhook: %s: %w", r.URL.Host, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("webhook: %s answers %s", r.URL.Host, answer.Status)
	}
	return nil
}
