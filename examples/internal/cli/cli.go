// Package cli has what all example programs share: flags that describe their ranges, and errors of
// one line on standard error, with exit status 1.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Run is the body of a program, with the arguments after the name of the program.
type Run func(args []string, stdout io.Writer) error

// If the program returns an error, Main prints it on standard error and exits with status 1.
func Main(name string, run Run) {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// For -h Parse prints about and the flags on stdout and returns done = true. No example has
// arguments that are not flags.
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
