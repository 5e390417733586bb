// Package progress shows how far a long computation has come, to people only.
package progress

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar is a progress bar, or nothing: the zero Bar and one whose writer is not a terminal print
// nothing.
type Bar struct{ bar *progressbar.ProgressBar }

// New returns a bar of the given number of steps that is drawn on w if w is a terminal.
func New(w io.Writer, steps int, what string) Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Bar{}
	}
	return Bar{progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Step advances the bar by one.
func (b Bar) Step() {
	if b.bar != nil {
		_ = b.bar.Add(1) // a bar that cannot be drawn is no reason to stop
	}
}

// Close removes the bar from the terminal. It may be called at any time.
func (b Bar) Close() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
