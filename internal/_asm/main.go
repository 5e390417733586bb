// Command _asm writes the assembly of the packages of internal/compute, with its Go declarations,
// the files that choose kernels by tier, and the tables that go with it:
//
//	go run -tags purego . [-dir folder] [package]
//
// Without a package it writes the files of all. Folders amd64 and arm64 hold a generator for each
// package and what the generators share. The tag purego keeps the command from linking the assembly
// that it is about to replace.
package main

import (
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	. "github.com/mmcloughlin/avo/build"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/cache"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/matmul"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/planerot"
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64/scan"
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	neonmatmul "github.com/seed-feabd252/randfeat/internal/_asm/arm64/matmul"
	neonplanerot "github.com/seed-feabd252/randfeat/internal/_asm/arm64/planerot"
	neonscan "github.com/seed-feabd252/randfeat/internal/_asm/arm64/scan"
	"github.com/seed-feabd252/randfeat/internal/_asm/bytedot"
	"github.com/seed-feabd252/randfeat/internal/_asm/dispatch"
	"github.com/seed-feabd252/randfeat/internal/_asm/fwht"
	"github.com/seed-feabd252/randfeat/internal/_asm/rankone"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
	"github.com/seed-feabd252/randfeat/internal/_asm/vecmath"
)

// generators write the kernels of a package. What they write is global: one a process.
var generators = map[string]func(){
	"bytedot":  bytedot.WriteAMD64,
	"cache":    cache.Write,
	"fwht":     fwht.WriteAMD64,
	"matmul":   matmul.Write,
	"planerot": planerot.Write,
	"rankone":  rankone.WriteAMD64,
	"scan":     scan.Write,
	"vecmath":  vecmath.WriteAMD64,
}

// neon writes the arm64 kernels of a package.
var neon = map[string]func(*arm64.File){
	"bytedot":  bytedot.WriteARM64,
	"fwht":     fwht.WriteARM64,
	"matmul":   neonmatmul.Write,
	"planerot": neonplanerot.Write,
	"rankone":  rankone.WriteARM64,
	"scan":     neonscan.Write,
	"vecmath":  vecmath.WriteARM64,
}

func main() {
	dir := flag.String("dir", "../compute", "`folder` of the folders of packages to write to")
	flag.Parse()
	if flag.NArg() == 0 {
		for name := range generators {
			command := exec.Command(os.Args[0], "-dir", *dir, name)
			command.Stderr = os.Stderr
			check(command.Run())
		}
		return
	}
	name := flag.Arg(0)
	write, ok := generators[name]
	if !ok || flag.NArg() > 1 {
		log.Fatalf("_asm: arguments %q, want one package that has assembly, or none", flag.Args())
	}
	folder := filepath.Join(*dir, name)
	check(os.MkdirAll(folder, 0o777))
	if name == "fwht" {
		source, err := terms.Source()
		check(err)
		check(os.WriteFile(filepath.Join(folder, "terms.go"), source, 0o666))
	}
	if write, ok := neon[name]; ok {
		f := arm64.NewFile(name)
		write(f)
		stubs, err := f.Stubs()
		check(err)
		check(os.WriteFile(filepath.Join(folder, name+"_arm64.s"), f.Assembly(), 0o666))
		check(os.WriteFile(filepath.Join(folder, "stubs_arm64.go"), wrap(stubs), 0o666))
	}
	check(os.Setenv("GOFLAGS", "-tags=purego")) // for what avo reads of the package
	ConstraintExpr("!purego,!noasm")
	write()
	os.Args = []string{os.Args[0], name} // what the files say of their origin
	check(flag.Set("pkg", name))
	out := filepath.Join(folder, name+"_amd64.s")
	check(flag.Set("out", out))
	declarations := filepath.Join(folder, "stubs_amd64.go")
	check(flag.Set("stubs", declarations))
	Generate()
	stubs, err := os.ReadFile(declarations)
	check(err)
	check(os.WriteFile(declarations, wrap(stubs), 0o666))
	assembly, err := os.ReadFile(out)
	check(err)
	check(amd64.CheckTiers(string(assembly)))
	check(os.WriteFile(out, []byte(amd64.EncodeVEX(string(assembly))), 0o666))
	check(dispatch.Write(name, folder, filepath.Join("../compute", name)))
}

// wrap breaks the comments of declarations at 100 columns. Of comments that differ only in the name
// and in numbers, wrap keeps the first.
func wrap(declarations []byte) []byte {
	const most = 100
	var b strings.Builder
	seen, again := map[string]bool{}, false
	for line := range strings.Lines(string(declarations)) {
		if again && line == "//\n" {
			continue
		}
		again = false
		if strings.HasPrefix(line, "// ") {
			_, text, _ := strings.Cut(line[len("// "):], " ")
			text = numbers.ReplaceAllString(text, "")
			if again = seen[text]; again {
				continue
			}
			seen[text] = true
		}
		for strings.HasPrefix(line, "// ") && utf8.RuneCountInString(line) > most+1 {
			at := strings.LastIndexByte(string([]rune(line)[:most+1]), ' ')
			b.WriteString(line[:at] + "\n")
			line = "// " + line[at+1:]
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

var numbers = regexp.MustCompile("[0-9]+")

func check(err error) {
	if err != nil {
		log.Fatal("_asm: ", err)
	}
}
