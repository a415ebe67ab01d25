// Package brokertest starts Apache Kafka for tests: one broker on loopback, from its
// published jars, which .ci/kafka fetches and .ci/test names in PACSGP_KAFKA.
package brokertest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A Server is a broker in a process of its own.
type Server struct {
	Address string // host:port without security

	// Set by [StartSecure]: host:port of the secure listener, and PEM files with the authority of
	// its certificate and with another authority.
	Secure, Authority, Stranger string

	jars, folder string
	process      *exec.Cmd
	ended        chan struct{}
	stop         func()
	output       bytes.Buffer
}

// prepare formats the folder of a broker. own adds properties; a user adds a secure listener.
// Without the jars the test is skipped, or fails with CI=true.
func prepare(t testing.TB, folder string, own map[string]string, user, password string) *Server {
	t.Helper()
	jars := os.Getenv("PACSGP_KAFKA")
	if jars == "" {
		fatal.Missing(t, "no Apache Kafka: PACSGP_KAFKA is not set; make test-all sets it")
	}
	ports := freePorts(t, 3)
	s := &Server{Address: ports[0], jars: jars, folder: folder, stop: func() {}}
	if user != "" {
		s.Secure = ports[2]
	}
	fatal.If(t, os.WriteFile(s.properties(), []byte(properties(s, ports[1], own)), 0o600))
	format := []string{"kafka.tools.StorageTool", "format", "-t", "AAAAAAAAQACAAAAAAAAAAQ", "-c", s.properties()}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		if user != "" {
			format = append(format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user, password))
		}
	}
	if out, err := s.java(t.Context(), format...).CombinedOutput(); err != nil {
		t.Fatalf("format: %v: %s", err, out)
	}
	return s
}

func (s *Server) properties() string { return filepath.Join(s.folder, "server.properties") }

func properties(s *Server, controller string, own map[string]string) string {
	listeners, protocols := "PLAINTEXT://"+s.Address, "PLAINTEXT:PLAINTEXT"
	if s.Secure != "" {
		listeners += ",SECURE://" + s.Secure
		protocols += ",SECURE:SASL_SSL"
	}
	all := map[string]string{
		"process.roles": "broker,controller", "node.id": "1", "controller.quorum.voters": "1@" + controller,
		"listeners": listeners + ",CONTROLLER://" + controller, "advertised.listeners": listeners,
		"controller.listener.names": "CONTROLLER", "inter.broker.listener.name": "PLAINTEXT",
		"listener.security.protocol.map": protocols + ",CONTROLLER:PLAINTEXT",
		"log.dirs":                       filepath.Join(s.folder, "data"), "auto.create.topics.enable": "false",
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1",
		"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "1",
		"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1", // records of tests have no time
	}
	maps.Copy(all, own)
	var text strings.Builder
	for name, value := range all {
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(value, "\n", "\\\n"))
	}
	return text.String()
}

// java returns a command that runs a class of the jars.
func (s *Server) java(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "java", append([]string{"-Xmx512m", "-cp", filepath.Join(s.jars, "*")}, args...)...) //nolint:gosec // the jars of the tests
	cmd.Dir = s.folder
	return cmd
}

// Run starts the process, also after [Server.Kill], and waits for its port. The process outlives
// the test's context: it must not end before the test has closed its clients.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	s.output.Reset()
	ctx, stop := context.WithCancel(context.Background())
	process, ended := s.java(ctx, "kafka.Kafka", s.properties()), make(chan struct{})
	process.Stdout, process.Stderr = &s.output, &s.output
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	process.WaitDelay = 20 * time.Second
	fatal.If(t, process.Start())
	s.process, s.ended = process, ended
	s.stop = func() { stop(); <-ended }
	go func() {
		_ = process.Wait() // the output says how it ended
		close(ended)
	}()
	for range 1200 {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", s.Address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the broker ended: %s", s.output.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("the broker does not open its port in two minutes")
}

// Kill kills the process, like a crash.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	fatal.If(t, s.process.Process.Kill())
	<-s.ended
	s.process = nil
}

// freePorts returns unused addresses on loopback.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		fatal.If(t, err)
		defer func() { _ = l.Close() }()
		all = append(all, "127.0.0.1:"+strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return all
}
