package config

import "runtime/debug"

// Software names the program in certificates: its version only, so that two builds of one source
// give the same bytes.
func Software() string { return "pacsgp " + Version() }

// Version is the main module's version, or "devel" in a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
