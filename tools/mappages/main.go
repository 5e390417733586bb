// Command mappages writes the pages of docs/maps: for each kernel its maps, their features, the
// exact mean and error of their estimates over every kind of frequencies, by validate.Theory, and a
// picture of the errors.
//
//	go run ./tools/mappages
//
// A test compares the checked-in pages with what it writes.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	folder := flag.String("o", "docs/maps", "`folder` to write, which is made")
	flag.Parse()
	err := fmt.Errorf("unexpected argument %q", flag.Arg(0))
	if flag.NArg() == 0 {
		err = write(*folder)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mappages: %v\n", err)
		os.Exit(1)
	}
}
