package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/sink/console"
)

func consoleCommand(w system) *cobra.Command {
	var s serving.Config
	cmd := &cobra.Command{
		Use:   "console DIR...",
		Short: "Show in a browser which models are current, and why",
		Long: "Show the models in the folders, and below them, in a browser: what is current, what it promises, what " +
			"new rows showed, and how the last runs ended. The console writes nothing, and runs until it is " +
			"interrupted. Other machines cannot open its pages: forward the port by SSH. Port 0 means any free port.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return config.Argument(errors.New("DIR...: name the output directories of train"))
			}
			return config.Local(args...)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return showConsole(cmd.Context(), w, args, s) },
	}
	cmd.Flags().StringVar(&s.Address, "listen", "127.0.0.1:7433", "the address to listen on")
	return cmd
}

// showConsole serves the pages until ctx is done.
func showConsole(ctx context.Context, w system, folders []string, s serving.Config) error {
	if err := s.Check(); err != nil {
		return config.Argument(fmt.Errorf("--listen: %w", err))
	}
	for _, folder := range folders {
		if at, err := os.Stat(folder); err != nil {
			return err
		} else if !at.IsDir() {
			return fmt.Errorf("%s: it is no directory; name the output directory of train", folder)
		}
	}
	s.Pages = console.Handler(folders, nil)
	server, err := serving.Start(ctx, s)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w.stdout, "console: %s/ (interrupt to end it)\n", server.URL)
	<-ctx.Done()
	return server.Close()
}
