// Package progress shows how far a long computation has come, to people only.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Bar is a line on a terminal with the number of steps done and an estimate of the time left. The
// zero Bar, and a Bar whose writer is not a terminal, print nothing.
type Bar struct{ line *line }

type line struct {
	w              io.Writer
	what           string
	done, steps    int
	start, printed time.Time
}

// New returns a Bar of the given number of steps that is drawn on w if w is a terminal.
func New(w io.Writer, steps int, what string) Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Bar{}
	}
	return Bar{&line{w: f, what: what, steps: steps, start: time.Now()}}
}

// Step advances the Bar by one. Step draws the line at most ten times a second.
func (b Bar) Step() {
	l := b.line
	if l == nil {
		return
	}
	l.done++
	now := time.Now()
	if now.Sub(l.printed) < 100*time.Millisecond {
		return
	}
	l.printed = now
	left := now.Sub(l.start) * time.Duration(l.steps-l.done) / time.Duration(l.done)
	fmt.Fprintf(l.w, "\r%s: %d of %d, %v left\x1b[K", l.what, l.done, l.steps, left.Round(time.Second))
}

// Close removes the line from the terminal. It may be called at any time.
func (b Bar) Close() {
	if b.line != nil {
		fmt.Fprint(b.line.w, "\r\x1b[K")
	}
}
