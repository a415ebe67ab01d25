package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/model"
)

// versionLine returns the program's version, the Go release, the platform and the instruction set.
func versionLine() string {
	return fmt.Sprintf("%s %s %s/%s, instruction set %s\n",
		config.Software(), runtime.Version(), runtime.GOOS, runtime.GOARCH, model.InstructionSet())
}

func versionCommand(w system) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the Go release and the instruction set in use",
		Args:  between(0, 0, "none"),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(w.stdout, versionLine())
			return err
		},
	}
}
