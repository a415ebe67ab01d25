package main

import (
	"github.com/spf13/cobra"
)

func demoCommand(w world) *cobra.Command {
	return &cobra.Command{Use: "demo"}
}
