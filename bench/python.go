package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// peersFolder holds the peers' programs.
var peersFolder = filepath.Join("bench", "peers")

// environment returns the interpreter that has the packages of
// peers/requirements.txt. It makes peers/.venv the first time, and again when that
// file or the Python changes or an earlier attempt was cut short.
func environment(ctx context.Context, log io.Writer) (string, error) {
	requirements := filepath.Join(peersFolder, "requirements.txt")
	wanted, err := os.ReadFile(requirements)
	if err != nil {
		return "", fmt.Errorf("%w (run from the project's root)", err)
	}
	base, version, err := basePython(ctx)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(peersFolder, ".venv")
	python, err := filepath.Abs(filepath.Join(folder, "bin", "python"))
	if err != nil {
		return "", err
	}
	// The stamp is written last, and holds all that the environment was made from.
	stamp, want := filepath.Join(folder, "made-from.txt"), version+string(wanted)
	if made, err := os.ReadFile(stamp); err == nil && string(made) == want {
		return python, nil
	}
	fmt.Fprintf(log, "making %s from %s: PyTorch comes with its CUDA libraries, some 4 GB; once\n", folder, requirements)
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := command(ctx, log, base, "-m", "venv", folder); err != nil {
		return "", fmt.Errorf("%s -m venv: %w", base, err)
	}
	if err := command(ctx, log, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
		"--only-binary", ":all:", "-r", requirements); err != nil {
		return "", fmt.Errorf("pip could not install %s (no network, or no packages for this Python): %w", requirements, err)
	}
	return python, os.WriteFile(stamp, []byte(want), 0o644)
}

// basePython returns the first Python that can make environments, and its
// version. PYTHON names another than python3.
func basePython(ctx context.Context) (name, version string, err error) {
	candidates := []string{"python3", "python"}
	if p := os.Getenv("PYTHON"); p != "" {
		candidates = []string{p}
	}
	const usable = "import sys, venv, ensurepip; assert sys.version_info >= (3, 10); print(sys.version, sys.base_prefix)"
	for _, name := range candidates {
		if out, err := exec.CommandContext(ctx, name, "-c", usable).Output(); err == nil {
			return name, string(out), nil
		}
	}
	return "", "", errors.New("no Python >= 3.10 with venv on PATH (on Debian: python3-venv; or set PYTHON)")
}

func command(ctx context.Context, log io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Run()
}
