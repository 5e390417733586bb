package amd64

import (
	"fmt"
	"regexp"
	"strconv"
)

var bytesVEX = regexp.MustCompile(`\tVPDPBUSD +Y(\d+), Y(\d+), Y(\d+)\n`)

// EncodeVEX replaces VPDPBUSD of three registers of AVX2 by the bytes of its VEX form, which is
// that of AVX-VNNI: C4, RXB and the opcode map 2, W, vvvv, L and the prefix 66, the opcode 50 and
// ModRM [Intel, Software Developer's Manual, volume 2]. Go's assembler knows only the form of
// AVX-512.
func EncodeVEX(assembly string) string {
	return bytesVEX.ReplaceAllStringFunc(assembly, func(line string) string {
		var r [3]int // the operand of ModRM's r/m, that of vvvv, and the destination
		for i, number := range bytesVEX.FindStringSubmatch(line)[1:] {
			r[i], _ = strconv.Atoi(number)
		}
		rxb := 0xe0 &^ (r[2]>>3<<7 | r[0]>>3<<5)
		code := []int{0xc4, rxb | 2, 15&^r[1]<<3 | 1<<2 | 1, 0x50, 0xc0 | r[2]&7<<3 | r[0]&7}
		return fmt.Sprintf("\tLONG $0x%02x%02x%02x%02x; BYTE $0x%02x // VPDPBUSD Y%d, Y%d, Y%d\n", code[3], code[2], code[1], code[0], code[4], r[0], r[1], r[2])
	})
}
