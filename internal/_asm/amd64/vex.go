package amd64

import (
	"fmt"
	"strings"
)

// EncodeVEX replaces VPDPBUSD in functions of AVX2 by the bytes of its VEX form, which is that of
// AVX-VNNI: C4, RXB and the opcode map 2, W, vvvv, L and the prefix 66, the opcode 50 and ModRM
// [Intel, Software Developer's Manual, volume 2]. Go's assembler knows only the form of AVX-512.
func EncodeVEX(assembly string) string {
	var b strings.Builder
	name := ""
	for line := range strings.Lines(assembly) {
		if m := function.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		var rm, vvvv, dst int
		if n, _ := fmt.Sscanf(line, "\tVPDPBUSD Y%d, Y%d, Y%d", &rm, &vvvv, &dst); n == 3 && !wide(name) {
			rxb, modRM := 0xe0&^(dst>>3<<7|rm>>3<<5), 0xc0|dst&7<<3|rm&7
			line = fmt.Sprintf("\tLONG $0x50%02x%02xc4; BYTE $0x%02x // VPDPBUSD Y%d, Y%d, Y%d\n", 15&^vvvv<<3|5, rxb|2, modRM, rm, vvvv, dst)
		}
		b.WriteString(line)
	}
	return b.String()
}
