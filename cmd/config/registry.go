package config

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A registry declares a schema registry.
type registry struct {
	URL          string `yaml:"url"`
	CA           string `yaml:"ca"`
	PasswordFile string `yaml:"password_file"`
}

// check adds the faults of the declaration.
func (r registry) check(key string, faults *yamlfile.Faults) {
	if r == (registry{}) {
		return
	}
	at, err := url.Parse(r.URL)
	faults.Unless(err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Host != "" && !hasPassword(at), key+".url", "want an address as in https://registry.example.org:8081 or https://USER@registry.example.org, without a password")
	faults.Unless(err != nil || hasPassword(at) || (at.User == nil) == (r.PasswordFile == ""), key, "a user in url, as in https://USER@registry.example.org, and password_file go together")
}

func hasPassword(at *url.URL) bool {
	_, has := at.User.Password()
	return has
}

// registryTimeout bounds one request.
const registryTimeout = 10 * time.Second

// client connects to the registry.
func (r registry) client() (*sr.Client, error) {
	tls, err := broker.TLSFiles{CA: r.CA}.Load()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: tls, Proxy: http.ProxyFromEnvironment}
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	user := at.User
	at.User = nil
	options := []sr.ClientOpt{sr.URLs(at.String()), sr.HTTPClient(&http.Client{Timeout: registryTimeout, Transport: transport})}
	if user != nil {
		password, err := readPassword(r.PasswordFile)
		if err != nil {
			return nil, err
		}
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
	case k.Cluster.Registry != (registry{}):
		client, err := k.Cluster.Registry.client()
		k.Config.Registry = &kafkalog.Schemas{Client: client, Patience: cmp.Or(time.Duration(k.Cluster.Patience), time.Minute), Waits: waits}
		return err
	default:
		return nil
	}
}
