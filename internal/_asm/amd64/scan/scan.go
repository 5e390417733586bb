// Package scan writes the amd64 kernels of package scan.
package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// The layout of package scan: a block of codes has 64 bytes.
const (
	blockBytes = 64
	blockWords = blockBytes / 8
	lanes      = blockBytes / 4
	planes     = 6
)

// ahead is the distance in bytes at which kernels prefetch codes. Processors prefetch by
// themselves, but only to the end of a page, and kernels would wait for the first lines of the next
// page.
const ahead = 4096

// Write writes all kernels.
func Write() {
	signsWide()
	signsNarrow()
	for _, width := range []int{1, 2, 4} {
		levels(amd64.Machines[0], width, wide)
		levels(amd64.Machines[2], width, narrow)
	}
	for _, width := range []int{8, 4} {
		productsWide(width)
		productsNarrow(width)
	}
	levelsWide()
	levelsNarrow()
	weigh(amd64.Machines[0])
	weigh(amd64.Machines[2])
	for _, width := range []int{8, 4} {
		sumsWide(width)
		sumsNarrow(width)
	}
}

// begin starts a function. The signature has no element type.
func begin(name, signature, doc string) {
	TEXT(name, NOSPLIT, "func"+signature)
	Doc(name + " " + doc)
	Pragma("noescape")
}

// at returns the address base + bytes.
func at(base Register, bytes int) Mem { return Mem{Base: base, Disp: bytes} }

// wordMask sets K1 to the mask of the words of the last, shorter block, and returns their number.
func wordMask(words Register) (rest GPVirtual) {
	rest = GP64()
	MOVQ(words, rest)
	ANDQ(U8(blockWords-1), rest)
	amd64.Machines[0].Mask(rest, nil)
	return rest
}
