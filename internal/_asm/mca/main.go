// Command mca prints the static cycles of the main loops of the arm64 kernels, as llvm-mca has them,
// beside the bound of the ports that each loop has:
//
//	go run ./mca [-llvm-objdump program] [-llvm-mca program]
//
// llvm-mca has to know the processors: LLVM 19 does. It assumes that loads hit the first cache.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// loop is a kernel of a package; its main loop is the longest without a loop inside.
type loop struct {
	pkg, function string
	what          string // goes through the loop once
}

var loops = []loop{
	{"fwht", "base4F32NEON", "64 elements, 6 stages"}, {"fwht", "base4F64NEON", "32 elements, 5 stages"},
	{"fwht", "pass4F32NEON", "64 elements, 4 stages"}, {"fwht", "pass4F64NEON", "32 elements, 4 stages"},
	{"fwht", "pass3F32NEON", "32 elements, 3 stages"}, {"fwht", "core28F32NEON", "28×4 elements"},
	{"matmul", "strip12x2F32NEON", "12×8 multiply-adds"}, {"matmul", "strip12x2F64NEON", "12×4 multiply-adds"},
	{"matmul", "packTransposedF32NEON", "4×4 elements"},
	{"planerot", "turn4F32NEON", "16 rows"}, {"planerot", "turn4F64NEON", "8 rows"},
	{"rankone", "decayCorrect4F32NEON", "2 rows of 16 columns"}, {"rankone", "add2By4F32NEON", "2 rows of 8 columns, 4 tokens"},
	{"vecmath", "expF32NEON", "16 elements"}, {"vecmath", "expF64NEON", "8 elements"},
	{"vecmath", "cosF32NEON", "16 elements"}, {"vecmath", "cosF64NEON", "8 elements"},
	{"vecmath", "sincosF32NEON", "8 elements"}, {"vecmath", "sincosF64NEON", "4 elements"},
	{"vecmath", "log1pF32NEON", "8 elements"},
	{"vecmath", "affineF32NEON", "16 elements"}, {"vecmath", "multiplyComplexF32NEON", "8 elements"},
	{"vecmath", "dotF32NEON", "32 elements"}, {"vecmath", "peakF32NEON", "16 elements"}, {"vecmath", "peakSumF32NEON", "8 elements"},
	{"vecmath", "outerF32NEON", "16 elements of a row"}, {"vecmath", "pickF32NEON", "8 elements"}, {"vecmath", "pickF64NEON", "8 elements"},
	{"bytedot", "scores4NEON", "4×16 sums of 4 products"}, {"bytedot", "weighNEON", "4×16 weights"},
	{"scan", "signsNEON", "128 codes"}, {"scan", "levels1NEON", "128 codes"}, {"scan", "levels2NEON", "64 codes"},
	{"scan", "levels4NEON", "32 codes"}, {"scan", "levelProductsNEON", "16 codes"}, {"scan", "longLevelProductsNEON", "16 codes"},
	{"scan", "products8NEON", "4 rows of 16 codes"}, {"scan", "products4NEON", "4 rows of 32 codes"},
	{"scan", "longProducts8NEON", "4 rows of 16 codes"}, {"scan", "longProducts4NEON", "4 rows of 32 codes"},
	{"scan", "sums8NEON", "16 codes"}, {"scan", "sums4NEON", "32 codes"}, {"scan", "weighNEON", "64 weights"},
}

var processors = []string{"apple-m1", "neoverse-n1", "neoverse-v1"}

func main() {
	objdump := flag.String("llvm-objdump", "llvm-objdump", "the `program`")
	mca := flag.String("llvm-mca", "llvm-mca", "the `program`")
	flag.Parse()
	folder, err := os.MkdirTemp("", "mca")
	check(err)
	defer os.RemoveAll(folder)
	fmt.Print("| kernel | once through the loop | instructions |")
	for _, p := range processors {
		fmt.Printf(" %s: bound, cycles |", p)
	}
	fmt.Printf("\n| --- | --- | ---: |%s\n", strings.Repeat(" ---: |", len(processors)))
	for _, l := range loops {
		binary := filepath.Join(folder, l.pkg)
		if _, err := os.Stat(binary); err != nil {
			build := exec.Command("go", "test", "-c", "-o", binary, "./internal/compute/"+l.pkg)
			build.Dir, build.Env = "../..", append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
			run(build)
		}
		symbol := "github.com/seed-feabd252/randfeat/internal/compute/" + l.pkg + "." + l.function + ".abi0"
		body := body(run(exec.Command(*objdump, "-d", "--no-show-raw-insn", "--disassemble-symbols="+symbol, binary)))
		fmt.Printf("| `%s.%s` | %s | %d |", l.pkg, strings.TrimSuffix(l.function, "NEON"), l.what, len(body))
		for _, p := range processors {
			const rounds = 200
			command := exec.Command(*mca, "-mtriple=aarch64", "-mcpu="+p, fmt.Sprintf("-iterations=%d", rounds))
			command.Stdin = strings.NewReader("loop:\n" + strings.Join(body, "\n") + "\n")
			out := run(command)
			fmt.Printf(" %.1f, %.1f |", number(out, "Block RThroughput"), number(out, "Total Cycles")/rounds)
		}
		fmt.Println()
	}
}

// branch is a jump to an address.
var branch = regexp.MustCompile(`^(b\.\w+|b|cbn?z\s+\w+,)\s*0x([0-9a-f]+)`)

// body returns the instructions of the longest loop without a loop inside; every jump goes to its
// beginning.
func body(listing []byte) []string {
	var code []string
	var places []uint64
	for line := range strings.Lines(string(listing)) {
		address, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		place, err := strconv.ParseUint(address, 16, 64)
		if !ok || err != nil || strings.TrimSpace(text) == "" {
			continue
		}
		text, _, _ = strings.Cut(strings.TrimSpace(strings.ReplaceAll(text, "\t", " ")), " <")
		code, places = append(code, text), append(places, place)
	}
	first, last, back := 0, -1, -1
	for i, text := range code {
		m := branch.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		target, err := strconv.ParseUint(m[2], 16, 64)
		check(err)
		if target > places[i] {
			continue
		}
		from := i - int(places[i]-target)/4
		if from > back && i-from > last-first {
			first, last = from, i
		}
		back = i
	}
	loop := code[first : last+1]
	for i, text := range loop {
		if m := branch.FindStringSubmatch(text); m != nil {
			loop[i] = m[1] + " loop"
		}
	}
	return loop
}

// number returns the number that a line of llvm-mca gives to a name.
func number(out []byte, name string) float64 {
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			check(err)
			return v
		}
	}
	log.Fatalf("mca: no %s in %q", name, out)
	return 0
}

func run(command *exec.Cmd) []byte {
	var faults bytes.Buffer
	command.Stderr = &faults
	out, err := command.Output()
	if err != nil {
		log.Fatalf("mca: %v: %v\n%s", command.Args, err, faults.Bytes())
	}
	return out
}

func check(err error) {
	if err != nil {
		log.Fatal("mca: ", err)
	}
}
