package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Cluster says how to reach the brokers that have all topics of a file, and the registry of
// their schemas.
type Cluster struct {
	Brokers  brokerList        `yaml:"brokers"`
	TLS      tlsConfig         `yaml:"tls"`
	SASL     saslConfig        `yaml:"sasl"`
	Registry registry          `yaml:"registry"`
	Patience yamlfile.Duration `yaml:"patience"`

	Told func(string) // gets the reason for a wait
}

// brokerList is a list of host:port.
type brokerList []string

// UnmarshalYAML reads the list. Within braces the YAML library takes host:port for a key
// and its value.
func (b *brokerList) UnmarshalYAML(node ast.Node) error {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return yamlfile.At(node, "want a list, as in [kafka-1:9092, kafka-2:9092]")
	}
	var faults []error
	for _, one := range list.Values {
		address := ""
		if text, ok := one.(*ast.StringNode); ok {
			address = text.Value
		} else if pair := yamlfile.Entries(one); len(pair) == 1 {
			address = pair[0].Key.GetToken().Value + ":" + pair[0].Value.GetToken().Value
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			faults = append(faults, yamlfile.At(one, "want host:port, as in kafka-1:9092"))
			continue
		}
		*b = append(*b, address)
	}
	return errors.Join(faults...)
}

type tlsConfig struct {
	Enabled     bool   `yaml:"enabled"`
	CA          string `yaml:"ca"`
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
}

type saslConfig struct {
	Mechanism    string `yaml:"mechanism"`
	User         string `yaml:"user"`
	PasswordEnv  string `yaml:"password_env"`
	PasswordFile string `yaml:"password_file"`
}

func (c *Cluster) files() []*string {
	return []*string{&c.TLS.CA, &c.TLS.Certificate, &c.TLS.Key, &c.SASL.PasswordFile, &c.Registry.CA, &c.Registry.PasswordFile}
}

// declared reports whether the section is there.
func (c Cluster) declared() bool {
	c.Told = nil
	return !reflect.ValueOf(c).IsZero()
}

// check adds the faults of the section, which a file has if it names topics.
func (c Cluster) check(topics bool, faults *yamlfile.Faults) {
	const key = "kafka"
	if !topics && !c.declared() {
		return
	}
	faults.Unless(topics, key, "nothing in this file is on a topic; leave it out")
	c.Registry.check(key+".registry", faults)
	faults.Unless(len(c.Brokers) > 0, key+".brokers", "name at least one, as in [broker.example.org:9092]")
	faults.Unless(c.Patience >= 0, key+".patience", "%v is negative", time.Duration(c.Patience))
	s := c.SASL
	if s == (saslConfig{}) {
		return
	}
	faults.Unless(slices.Contains([]string{broker.Plain, broker.ScramSHA256, broker.ScramSHA512}, s.Mechanism), key+".sasl.mechanism", "%q is none of "+broker.Plain+", "+broker.ScramSHA256+", "+broker.ScramSHA512, s.Mechanism)
	faults.Unless(s.User != "", key+".sasl.user", "name the user")
	faults.Unless((s.PasswordEnv == "") != (s.PasswordFile == ""), key+".sasl", "name where the password is: password_env, a variable of the environment, or password_file")
}

// Client connects to the cluster.
func (c Cluster) Client() (*broker.Client, error) {
	config := broker.Config{Brokers: c.Brokers, Patience: time.Duration(c.Patience), Told: c.Told}
	var err error
	if t := c.TLS; t != (tlsConfig{}) {
		if config.TLS, err = (broker.TLSFiles{CA: t.CA, Certificate: t.Certificate, Key: t.Key}).Load(); err != nil {
			return nil, err
		}
	}
	if c.SASL.Mechanism != "" {
		password, err := c.SASL.password()
		if err != nil {
			return nil, err
		}
		if config.SASL, err = broker.Login(c.SASL.Mechanism, c.SASL.User, password); err != nil {
			return nil, err
		}
	}
	return broker.NewClient(config)
}

// password reads the secret.
func (s saslConfig) password() (string, error) {
	if s.PasswordFile != "" {
		text, err := durable.ReadSmall(s.PasswordFile, "a password", 1<<12)
		return strings.TrimRight(string(text), "\r\n"), err
	}
	text, ok := os.LookupEnv(s.PasswordEnv)
	if !ok || text == "" {
		return "", fmt.Errorf("%w: sasl.password_env: there is no variable %s in the environment", pipeline.ErrConfig, s.PasswordEnv)
	}
	return text, nil
}
