package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A terminal that does not tell its size, as one that a program has opened, is
// a terminal all the same: it gets words for people.
func TestTerminalWidth(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil { // a container may have no /dev/ptmx; nothing else can stand for a terminal
		t.Skip("no terminal can be opened here:", err)
	}
	defer terminal.Close()
	if got := terminalWidth(terminal); got != unknownWidth {
		t.Errorf("terminalWidth() of a terminal of no size = %d, want %d", got, unknownWidth)
	}
	fatal.If(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 132}))
	if got := terminalWidth(terminal); got != 132 {
		t.Errorf("terminalWidth() of a terminal of 132 columns = %d", got)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	fatal.If(t, err)
	defer file.Close()
	if got := terminalWidth(file); got != 0 {
		t.Errorf("terminalWidth() of a file = %d, want 0", got)
	}
}
