// Command _asm writes the assembly of a package of internal, with its Go declarations and the
// tables that go with it:
//
//	go run -tags purego . [-dir folder] package
//
// Folder amd64 holds a generator for each package and what they share. The tag purego keeps the
// command from linking the assembly that it is about to replace.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	. "github.com/mmcloughlin/avo/build"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/fwht"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/matmul"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/planerot"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/vecmath"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
)

// generators write the kernels of a package. What they write is global: one a process.
var generators = map[string]func(){
	"fwht":     fwht.Write,
	"matmul":   matmul.Write,
	"planerot": planerot.Write,
	"vecmath":  vecmath.Write,
}

func main() {
	dir := flag.String("dir", "", "`folder` to write to, in place of that of the package")
	flag.Parse()
	name := flag.Arg(0)
	write, ok := generators[name]
	if !ok || flag.NArg() != 1 {
		log.Fatalf("_asm: arguments %q, want one package that has assembly", flag.Args())
	}
	if *dir == "" {
		*dir = filepath.Join("..", name)
	}
	if name == "fwht" {
		source, err := terms.Source()
		check(err)
		check(os.WriteFile(filepath.Join(*dir, "terms.go"), source, 0o666))
	}
	check(os.Setenv("GOFLAGS", "-tags=purego")) // for what avo reads of the package
	ConstraintExpr("!purego,!noasm")
	write()
	os.Args = []string{os.Args[0], name} // what the files say of their origin
	check(flag.Set("pkg", name))
	check(flag.Set("out", filepath.Join(*dir, name+"_amd64.s")))
	check(flag.Set("stubs", filepath.Join(*dir, "stubs_amd64.go")))
	Generate()
}

func check(err error) {
	if err != nil {
		log.Fatal("_asm: ", err)
	}
}
