package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/console"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// A consoleConfig says where the console is reached, and by whom.
type consoleConfig struct {
	listen, token    string
	certificate, key string
	hosts            []string
}

func consoleCommand(w system) *cobra.Command {
	var c consoleConfig
	cmd := &cobra.Command{
		Use:   "console DIR...",
		Short: "Show folders of certificates in a browser",
		Long: "Show the certificates in folders, and below them, as pages for a browser: over time, one as\n" +
			"inspect prints it, and two beside each other. It reads and writes nothing, until it is\n" +
			"interrupted. Other machines are only served with a token and TLS.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("DIR...: name the output directories of train")}
			}
			return config.Local(args...)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return serveConsole(cmd.Context(), w, args, c) },
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:7433", "the address to listen on; port 0 is any that is free")
	f.StringVar(&c.token, "token-file", "", "a file with the token that is asked for, of 16 characters or more")
	f.StringVar(&c.certificate, "tls-cert", "", "the certificate chain of the server (PEM)")
	f.StringVar(&c.key, "tls-key", "", "its key (PEM)")
	f.StringSliceVar(&c.hosts, "host", nil, "other names under which the console is reached, as that of a proxy")
	return cmd
}

// Times of the server. A page takes milliseconds; what takes longer is no reader of it.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	farewell      = 3 * time.Second
	rescan        = 2 * time.Second // between looks at the folders
)

// serveConsole serves pages until ctx is done.
func serveConsole(ctx context.Context, w system, folders []string, c consoleConfig) error {
	for _, folder := range folders {
		if at, err := os.Stat(folder); err != nil {
			return err
		} else if !at.IsDir() {
			return fmt.Errorf("%s: it is no directory; name the output directory of train", folder)
		}
	}
	guard, secure, err := c.guard()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsLoopback() && (guard.Token == "" || secure == nil) {
		return errors.Join(fmt.Errorf("%v is no address of this machine alone", listener.Addr()), listener.Close())
	}
	scheme := "http"
	if secure != nil {
		scheme, listener = "https", tls.NewListener(listener, secure)
	}
	index := console.NewIndex(folders)
	server := &http.Server{
		Handler: console.Handler(index, guard), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	_, _ = fmt.Fprintf(w.stdout, "console: %s://%s/ (interrupt to end it)\n", scheme, address)
	group, done := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		for {
			if err := index.Refresh(done); done.Err() == nil && err != nil {
				return err
			}
			select {
			case <-done.Done():
				return nil
			case <-time.After(rescan):
			}
		}
	})
	group.Go(func() error {
		<-done.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if err := server.Shutdown(last); err != nil {
			return server.Close()
		}
		return nil
	})
	return group.Wait()
}

// shortestToken is how many characters a token has at least.
const shortestToken = 16

// guard checks who may see the pages: everybody on this machine, or with a token and over
// TLS others as well.
func (c consoleConfig) guard() (console.Guard, *tls.Config, error) {
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return console.Guard{}, nil, usageError{fmt.Errorf("--listen: want host:port, as in 127.0.0.1:7433: %w", err)}
	}
	g := console.Guard{Hosts: []string{"localhost", "127.0.0.1", "::1"}}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		g.Hosts = append(g.Hosts, host)
	}
	g.Hosts = append(g.Hosts, c.hosts...)
	if c.token != "" {
		text, err := durable.ReadSmall(c.token, "a token", 1<<12)
		if err != nil {
			return g, nil, err
		}
		if g.Token = strings.TrimSpace(string(text)); len(g.Token) < shortestToken {
			return g, nil, fmt.Errorf("%s: a token has at least %d characters", filepath.Clean(c.token), shortestToken)
		}
	}
	if (c.certificate == "") != (c.key == "") {
		return g, nil, usageError{errors.New("--tls-cert and --tls-key: give both")}
	}
	ip := net.ParseIP(host)
	if alone := host == "localhost" || ip != nil && ip.IsLoopback(); !alone && (c.token == "" || c.certificate == "") {
		return g, nil, usageError{fmt.Errorf("--listen %s: other machines are only served with --token-file, --tls-cert and --tls-key", c.listen)}
	}
	if c.certificate == "" {
		return g, nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return g, nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	g.Secure = true
	return g, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}
