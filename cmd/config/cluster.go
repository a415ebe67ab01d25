package config

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Cluster declares the brokers that have all topics of a file, and the registry of their schemas.
type Cluster struct {
	Brokers  brokerList        `yaml:"brokers"`
	TLS      *broker.TLSFiles  `yaml:"tls"` // nil: none
	SASL     saslConfig        `yaml:"sasl"`
	Registry registry          `yaml:"registry"`
	Patience yamlfile.Duration `yaml:"patience"`

	Warning func(string) // called with the reason for a wait
}

type saslConfig struct {
	Mechanism    string `yaml:"mechanism"`
	User         string `yaml:"user"`
	PasswordFile string `yaml:"password_file"`
}

func (c *Cluster) files() []*string {
	all := []*string{&c.SASL.PasswordFile}
	if !c.Registry.remote() {
		all = append(all, (*string)(&c.Registry))
	}
	if t := c.TLS; t != nil {
		all = append(all, &t.CA, &t.Certificate, &t.Key)
	}
	return all
}

// check adds the faults of the section. A file must have it if and only if it names topics.
func (c Cluster) check(topics bool, faults *yamlfile.Faults) {
	const key = "kafka"
	if c.Warning = nil; !topics && reflect.ValueOf(c).IsZero() { // the file has no such section
		return
	}
	faults.Unless(topics, key, "this file uses no topic; leave it out")
	if c.Registry.remote() {
		at, err := url.Parse(string(c.Registry))
		faults.Unless(err == nil && at.Host != "" && at.User == nil, key+".registry", "want an address as in https://registry.example.org:8081, or a file with one as in https://USER:PASSWORD@registry.example.org")
	}
	faults.Unless(len(c.Brokers) > 0, key+".brokers", "name at least one, as in [broker.example.org:9092]")
	s := c.SASL
	if s == (saslConfig{}) {
		return
	}
	faults.Unless(slices.Contains(broker.Mechanisms, s.Mechanism), key+".sasl.mechanism", "%q is none of "+strings.Join(broker.Mechanisms, ", "), s.Mechanism)
	faults.Unless(s.User != "", key+".sasl.user", "name the user")
	faults.Unless(s.PasswordFile != "", key+".sasl.password_file", "name the file with the password")
}

// Client returns a client of the cluster.
func (c Cluster) Client() (*broker.Client, error) {
	config := broker.Config{Brokers: c.Brokers, Patience: time.Duration(c.Patience), Warning: c.Warning}
	var err error
	if c.TLS != nil {
		if config.TLS, err = c.TLS.Load(); err != nil {
			return nil, err
		}
	}
	if c.SASL.Mechanism != "" {
		password, err := readPassword(c.SASL.PasswordFile)
		if err != nil {
			return nil, err
		}
		if config.SASL, err = broker.Login(c.SASL.Mechanism, c.SASL.User, password); err != nil {
			return nil, err
		}
	}
	return broker.NewClient(config)
}

func readPassword(path string) (string, error) {
	text, err := durable.ReadSmall(path, "a password", 1<<12)
	return strings.TrimRight(string(text), "\r\n"), err
}

// A registry is the address of a schema registry, or the path of a file with an address that has a user and a password.
type registry string

// remote reports whether r is an address, not a file.
func (r registry) remote() bool {
	return strings.HasPrefix(string(r), "http://") || strings.HasPrefix(string(r), "https://")
}

// registryTimeout bounds one request to the registry.
const registryTimeout = 10 * time.Second

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
		return nil, fmt.Errorf("%s: it holds no address", r) // without the address, which may be secret
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
