package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/model"
)

// software names the program in certificates: its version only, so that two
// builds of one source give the same bytes.
func software() string { return "pacsgp " + version() }

// version is the module's version, or "devel" in a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// versionLine says all of it.
func versionLine() string {
	return fmt.Sprintf("%s %s %s/%s, instruction set %s\n",
		software(), runtime.Version(), runtime.GOOS, runtime.GOARCH, model.InstructionSet())
}

func versionCommand(w system) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the Go release and the instruction set in use",
		Args:  exactly(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(w.stdout, versionLine())
			return err
		},
	}
}
