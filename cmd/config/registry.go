package config

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A registry is the address of a schema registry, or a file with an address that has a user and a
// password.
type registry string

// remote reports whether it is the address itself.
func (r registry) remote() bool {
	return strings.HasPrefix(string(r), "http://") || strings.HasPrefix(string(r), "https://")
}

// check adds the faults of the declaration.
func (r registry) check(key string, faults *yamlfile.Faults) {
	if r.remote() {
		at, err := url.Parse(string(r))
		faults.Unless(err == nil && at.Host != "" && at.User == nil, key, "want an address as in https://registry.example.org:8081, or a file with one as in https://USER:PASSWORD@registry.example.org")
	}
}

// registryTimeout bounds one request.
const registryTimeout = 10 * time.Second

// client connects to the registry.
func (r registry) client() (*sr.Client, error) {
	address := string(r)
	if !r.remote() {
		var err error
		if address, err = readPassword(address); err != nil {
			return nil, err
		}
	}
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%s: it holds no address", r) // which may be secret
	}
	user := at.User
	at.User = nil
	options := []sr.ClientOpt{sr.URLs(at.String()), sr.HTTPClient(&http.Client{Timeout: registryTimeout})}
	if user != nil {
		password, _ := user.Password()
		options = append(options, sr.BasicAuth(user.Username(), password))
	}
	return sr.NewClient(options...)
}

// maxSchemaFile bounds a file with a schema.
const maxSchemaFile = 1 << 20

// Schemas reads the declared schema, or connects to the registry. waits is called with the reason
// when a wait for it begins, and with nil at its end.
func (k *Topic) Schemas(waits func(err error)) error {
	switch {
	case k.Schema != "":
		text, err := durable.ReadSmall(k.Schema, "an Avro schema", maxSchemaFile)
		k.Config.Schema = string(text)
		return err
	case k.Cluster.Registry != "":
		client, err := k.Cluster.Registry.client()
		k.Config.Registry = &kafkalog.Schemas{Client: client, Patience: cmp.Or(time.Duration(k.Cluster.Patience), time.Minute), Waits: waits}
		return err
	default:
		return nil
	}
}
