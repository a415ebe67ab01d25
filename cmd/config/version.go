package config

import "runtime/debug"

// Software returns the program's name for certificates, with the version only, so that two builds
// of the same source publish the same bytes.
func Software() string { return "pacsgp " + Version() }

// Version returns the version of the main module, or "devel" for a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
