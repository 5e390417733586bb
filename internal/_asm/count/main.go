// Command count prints how many instructions arm64 executes for one round of some benchmarks, with
// NEON and in pure Go. qemu-aarch64-static has to be there:
//
//	go run ./count
//
// It counts the instructions of the functions of this module and of package math: those that two
// rounds take more than one does. The product in pure Go takes minutes.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// cases are benchmarks.
var cases = []struct{ pkg, benchmark string }{
	{"fwht", "Transform/type=float32/n=1024$"},
	{"matmul", "Product/type=float32/m=512/n=512/k=512$"},
	{"vecmath", "Exp/type=float32/n=65536$"},
	{"fwht", "Transform/type=float64/n=1024$"},
	{"vecmath", "Exp/type=float64/n=65536$"},
	{"vecmath", "Cos/type=float32/n=65536$"},
	{"vecmath", "Sincos/type=float32/n=65536$"},
	{"vecmath", "PeakSum/type=float32/n=65536$"},
	{"vecmath", "HalfSquaredNorm/type=float32/n=65536$"},
	{"vecmath", "Pick/type=float32/n=65536$"},
	{"bytedot", "Tile/bits=8/queries=64$"},
	{"scan", "Signs/d=768$"},
	{"scan", "Levels/bits=1/d=768$"},
	{"scan", "Levels/bits=2/d=768$"},
	{"scan", "Levels/bits=4/d=768$"},
	{"scan", "Tables/bits=8/d=768$"},
	{"scan", "Products/bits=8/d=768/queries=1$"},
	{"scan", "Products/bits=4/d=768/queries=1$"},
	{"scan", "Sums/bits=8/d=768/sets=1$"},
	{"scan", "Sums/bits=4/d=768/sets=1$"},
}

func main() {
	folder, err := os.MkdirTemp("", "count")
	check(err)
	defer os.RemoveAll(folder)
	fmt.Println("| benchmark | NEON | pure Go | ratio |\n| --- | ---: | ---: | ---: |")
	for _, c := range cases {
		binary := filepath.Join(folder, c.pkg)
		if _, err := os.Stat(binary); err != nil {
			build := exec.Command("go", "test", "-c", "-o", binary, "./internal/compute/"+c.pkg)
			build.Dir, build.Env = "../..", append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
			build.Stderr = os.Stderr
			check(build.Run())
		}
		neon := round(binary, c.benchmark, "")
		pure := round(binary, c.benchmark, "neon")
		fmt.Printf("| %s.%s | %d | %d | %.1f |\n", c.pkg, c.benchmark[:len(c.benchmark)-1], neon, pure, float64(pure)/float64(neon))
	}
}

// round returns the number of instructions of a round of a benchmark.
func round(binary, benchmark, disabled string) int64 {
	return executed(binary, benchmark, disabled, 2) - executed(binary, benchmark, disabled, 1)
}

// executed runs so many rounds. The emulator logs the instructions of a block of code when it
// translates the block, and a line whenever the block is executed.
func executed(binary, benchmark, disabled string, rounds int) (total int64) {
	command := exec.Command("qemu-aarch64-static", "-d", "in_asm,exec,nochain", binary,
		"-test.run", "^$", "-test.cpu", "1", "-test.bench", benchmark, "-test.benchtime", fmt.Sprintf("%dx", rounds))
	command.Env = append(os.Environ(), "RANDFEAT_DISABLE="+disabled, "GOMAXPROCS=1")
	out, err := command.StderrPipe()
	check(err)
	check(command.Start())
	lengths := map[string]int64{} // of blocks, by their first addresses
	var address string
	for lines := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			break
		}
		switch {
		case bytes.HasPrefix(line, []byte("IN:")):
			address = ""
		case bytes.HasPrefix(line, []byte("0x")):
			if address == "" {
				address = string(line[2:10])
				lengths[address] = 0
			}
			lengths[address]++
		case bytes.HasPrefix(line, []byte("Trace")) && (bytes.Contains(line, []byte("randfeat/internal/compute/")) || bytes.Contains(line, []byte("] math."))):
			_, rest, _ := bytes.Cut(line, []byte{'/'})
			total += lengths[string(rest[8:16])]
		}
	}
	check(command.Wait())
	return total
}

func check(err error) {
	if err != nil {
		log.Fatal("count: ", err)
	}
}
