package arm64

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// disassemble returns an instruction as GNU's assembler has it.
func disassemble(bits uint32) (string, error) {
	// The package does not know the products of bytes, with Q = 1 for whole vectors and size = 2
	// for sums of 32 bits: 0 Q U 01110 size 0 Rm 100101 Rn Rd, and 0 Q U 01111 size L Rm 1110 H 0
	// Rn Rd with one element of Rm.
	name, a, b, c := "su"[bits>>29&1], bits&31, bits>>5&31, bits>>16&31
	switch {
	case bits>>30 == 1 && bits>>24&31 == 0b01110 && bits>>21&7 == 0b100 && bits>>10&63 == 0b100101:
		return fmt.Sprintf("%cdot v%d.4s, v%d.16b, v%d.16b", name, a, b, c), nil
	case bits>>30 == 1 && bits>>24&31 == 0b01111 && bits>>22&3 == 2 && bits>>12&15 == 0b1110 && bits>>10&1 == 0:
		return fmt.Sprintf("%cdot v%d.4s, v%d.16b, v%d.4b[%d]", name, a, b, c, bits>>11&1<<1|bits>>21&1), nil
	}
	var code [4]byte
	binary.LittleEndian.PutUint32(code[:], bits)
	instruction, err := arm64asm.Decode(code[:])
	if err != nil {
		return "", err
	}
	return arm64asm.GNUSyntax(instruction), nil
}

// check disassembles a word and compares the instruction with the text of its comment.
func check(bits uint32, text string) error {
	got, err := disassemble(bits)
	if err != nil {
		return fmt.Errorf("%#08x, for %s: %w", bits, text, err)
	}
	if got != text {
		return fmt.Errorf("%#08x is %s, want %s", bits, got, text)
	}
	return nil
}

// parseWord tells whether a line of assembly is a word, and returns its bits and the instruction
// that its comment names.
func parseWord(line string) (bits uint32, text string, ok bool) {
	code, text, found := strings.Cut(strings.TrimSpace(line), " // ")
	if !found {
		return 0, "", strings.HasPrefix(code, "WORD")
	}
	n, err := fmt.Sscanf(code, "WORD $0x%x", &bits)
	return bits, text, n == 1 && err == nil
}

// TestWords disassembles every word of the assembly that is checked in.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("../../compute/*/*_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := map[uint32]bool{}
		for line := range strings.Lines(string(source)) {
			bits, text, ok := parseWord(line)
			if !ok {
				if strings.Contains(line, "WORD") {
					t.Errorf("%s: %q has a word without its instruction", file, line)
				}
				continue
			}
			words[bits] = true
			if err := check(bits, text); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if len(words) == 0 {
			t.Errorf("%s has no words", file)
		}
		t.Logf("%s: %d different words", file, len(words))
	}
}

// TestWrongWords changes each bit of a word in turn: none is taken for the word that was meant.
func TestWrongWords(t *testing.T) {
	for _, m := range Machines(nil) {
		for _, w := range []word{m.binary("fadd", fadd), m.unary("fabs", fabs), m.element("fmla", 0x4f801000, 1), m.shiftRight(3), rightRounded(11), dotBytes, dotFirst, dotUnsigned, narrowInts[1], storeAt} {
			line := w.encode([]int{17, 5, 9}[:len(w.shifts)])
			bits, text, ok := parseWord(line)
			if !ok {
				t.Fatalf("%q is no word", line)
			}
			if err := check(bits, text); err != nil {
				t.Error(err)
			}
			for bit := range 32 {
				if check(bits^1<<bit, text) == nil {
					t.Errorf("%s with bit %d changed passes", line, bit)
				}
			}
		}
	}
}
