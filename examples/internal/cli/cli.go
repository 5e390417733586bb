// Package cli is the frame of the example programs: flags with a description, one line on standard
// error and exit status 1 when something is wrong.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Run is the body of a program. It is given the arguments after the program's name, and returns
// what went wrong instead of printing it.
type Run func(args []string, stdout, stderr io.Writer) error

// Main runs a program on the process's arguments and streams. An error is printed on standard error
// after the program's name, and the process exits with status 1.
func Main(name string, run Run) {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Parse parses args with the flags of fs. For -h it prints about and the flags on stdout and
// returns done = true. Arguments that are not flags are an error: no example takes any.
func Parse(fs *flag.FlagSet, about string, args []string, stdout io.Writer) (done bool, err error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nFlags:\n", about)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w (-h describes the flags)", err)
	case fs.NArg() > 0:
		return false, fmt.Errorf("unexpected argument %q (-h describes the flags)", fs.Arg(0))
	}
	return false, nil
}
