// Package cli is the frame of the example programs: flags that say their ranges, files that are
// complete or not there, one line on standard error and exit status 1 when something is wrong.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Run is the body of a program. It takes the arguments after the program's name, and returns an
// error instead of printing it.
type Run func(args []string, stdout io.Writer) error

// Main runs a program on the process's arguments and streams. If the program returns an error, Main
// prints it on standard error after the program's name, and the process exits with status 1. An
// interrupt, or the signal to terminate, removes all temporary folders and ends the process with
// status 130.
func Main(name string, run Run) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		removeTemporary()
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, s)
		os.Exit(130)
	}()
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Parse parses args. For -h it prints about and the flags on stdout and returns done = true.
// Arguments that are not flags are an error: no example takes any.
func (f *Flags) Parse(about string, args []string, stdout io.Writer) (done bool, err error) {
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	switch err := f.FlagSet.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nFlags:\n", about)
		f.SetOutput(stdout)
		f.PrintDefaults()
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w (-h describes the flags)", err)
	case f.NArg() > 0:
		return false, fmt.Errorf("unexpected argument %q (-h describes the flags)", f.Arg(0))
	}
	return false, nil
}
