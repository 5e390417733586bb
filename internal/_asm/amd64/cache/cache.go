// Package cache writes the amd64 assembly of package cache.
package cache

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Write writes the instruction CPUID, a copy past the caches and a prefetch as functions.
func Write() {
	Package("github.com/seed-feabd252/randfeat/internal/compute/cache")
	TEXT("cpuid", NOSPLIT, "func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)")
	Doc("cpuid is the instruction CPUID.")
	Load(Param("leaf"), EAX)
	Load(Param("subleaf"), ECX)
	CPUID()
	for i, r := range []Register{EAX, EBX, ECX, EDX} {
		Store(r, ReturnIndex(i))
	}
	RET()
	copyLines()
	fetchLines()
}

// fetchLines needs no more than any amd64 processor has.
func fetchLines() {
	const line = 64
	TEXT("fetchLines", NOSPLIT, "func(x *byte, lines int)")
	Doc("fetchLines prefetches so many lines from the line of x on.")
	Pragma("noescape")
	x, lines := Load(Param("x"), GP64()), Load(Param("lines"), GP64())
	Label("loop")
	PREFETCHT0(Mem{Base: x})
	ADDQ(Imm(line), x)
	DECQ(lines)
	JNZ(LabelRef("loop"))
	RET()
}

// copyLines needs no more than any amd64 processor has.
func copyLines() {
	const line, width = 64, 16
	TEXT("copyLines", NOSPLIT, "func(dst, src *byte, lines int)")
	Doc("copyLines copies lines·64 bytes to dst, which is a multiple of 64, with stores that bypass the caches.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	lines := Load(Param("lines"), GP64())
	Label("loop")
	x := []Register{X0, X1, X2, X3}
	for i, r := range x {
		MOVUPS(Mem{Base: src, Disp: i * width}, r)
	}
	for i, r := range x {
		MOVNTPS(r, Mem{Base: dst, Disp: i * width})
	}
	ADDQ(Imm(line), src)
	ADDQ(Imm(line), dst)
	DECQ(lines)
	JNZ(LabelRef("loop"))
	RET()
}
