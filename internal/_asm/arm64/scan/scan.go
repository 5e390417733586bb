// Package scan writes the arm64 kernels of package scan.
package scan

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/zeros"
)

// The layout of package scan: a block of codes has 8 words, and a lane 4 bytes.
const (
	blockBytes = 64
	blockWords = blockBytes / 8
	planes     = 6
)

// Write writes all kernels.
func Write(f *arm64.File) {
	m := machine{arm64.Machines(f)[0]}
	m.Name = "NEON"
	m.signs()
	for _, dot := range []bool{true, false} {
		for _, width := range []int{8, 4, 2, 1} {
			m.products(width, dot)
		}
		for _, width := range []int{8, 4, 2} {
			m.levelProducts(width, dot)
		}
	}
	zeros.WriteScore[arm64.Vec, arm64.GP](m)
	m.weigh()
	m.widen(5)
	m.widen(6)
	for _, width := range []int{8, 4} {
		m.sums(width)
	}
}

// machine is a machine with the kernels as methods.
type machine struct{ arm64.Machine }

// blocks writes a loop over the words of a row, a block at a time. In a block, load reads two words
// at rows, or the last word of a row with an odd number of words. body processes the words, and is
// written once. It gets an address that begins at start and advances by 16 bytes for two words.
// After a block, start advances by a number of bytes.
//
// after is written behind a block. left is the number of remaining words of the row.
func (m machine) blocks(rows, left, start arm64.GP, bytes int, load func(words int), body func(at arm64.GP), after func()) {
	m.Label("block")
	at, inBlock := m.CopyOf(start), m.GP()
	m.I("MOVD $%d, R%w", blockWords, inBlock)
	m.I("CMP R%r, R%r", inBlock, left)
	m.I("CSEL LT, R%r, R%r, R%w", left, inBlock, inBlock)
	m.I("SUB R%r, R%m", inBlock, left)
	m.Label("pair")
	m.I("CMP $2, R%r", inBlock)
	m.I("BLT %j", "single")
	load(2)
	m.I("ADD $16, R%m", rows)
	m.Label("body")
	body(at)
	m.I("ADD $%d, R%m", arm64.Width, at)
	m.I("SUBS $2, R%m", inBlock)
	m.I("BGT %j", "pair")
	m.I("ADD $%d, R%m", bytes, start)
	after()
	m.I("CBNZ R%r, %j", left, "block")
	m.I("B %j", "sum")

	m.Label("single")
	load(1)
	m.I("ADD $8, R%m", rows)
	m.I("B %j", "body")
	m.Label("sum")
}

// rows writes a loop over n rows.
func (m machine) rows(n arm64.GP, body func()) {
	m.I("CBZ R%r, %j", n, "done")
	m.Label("row")
	body()
	m.I("SUB $1, R%m", n)
	m.I("CBNZ R%r, %j", n, "row")
	m.Label("done")
	m.End()
}

// loadWords sets dst to the next two words at rows, or to one word and zeros.
func (m machine) loadWords(dst arm64.Vec, rows arm64.GP, words int) {
	if words == 2 {
		m.Into(dst).Load(rows, 0)
	} else {
		m.I("FMOVD (R%r), F%w", rows, dst)
	}
}
