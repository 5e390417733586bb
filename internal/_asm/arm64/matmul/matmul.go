// Package matmul writes the arm64 kernels of package matmul.
package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

type machine struct{ arm64.Machine }

// mostRows is the number of rows of a tile of two vectors, as on AVX-512: 16 sums keep four pipes
// with a latency of four busy.
const mostRows = 8

// Write writes all kernels.
func Write(f *arm64.File) {
	for _, general := range arm64.Machines(f) {
		m := machine{general}
		for rows := 1; rows <= mostRows; rows++ {
			m.strip(rows, 1)
			m.strip(rows, 2)
		}
		m.pack(1)
		m.pack(2)
		m.packTransposed()
	}
	prefetch(arm64.Machines(f)[0])
}

func prefetch(m arm64.Machine) {
	const line = 64
	m.Name = ""
	m.Begin("prefetch", "(p *byte, rows, stride, bytes int)",
		"asks for so many bytes at p, p + stride, … to be brought into the caches; rows and bytes are positive.")
	p, rows, stride, bytes := m.Argument("p"), m.Argument("rows"), m.Argument("stride"), m.Argument("bytes")
	at, end := m.GP(), m.GP()
	m.Label("row")
	m.I("ADD R%r, R%r, R%w", p, bytes, end)
	m.I("AND $%d, R%r, R%w", -line, p, at)
	m.Label("line")
	m.I("PRFM (R%r), PLDL2KEEP", at)
	m.I("ADD $%d, R%m", line, at)
	m.I("CMP R%r, R%r", end, at)
	m.I("BLO %j", "line")
	m.I("ADD R%r, R%m", stride, p)
	m.Repeat("row", rows)
	m.End()
}

func (m machine) pack(vectors int) {
	m.Begin(fmt.Sprintf("pack%d", vectors), "(k int, dst, b *T, stride, lanes int)",
		fmt.Sprintf("writes the first %d columns of k rows of B, zeros in place of those beyond lanes of the last %d.", vectors*m.Lanes(), m.Lanes()))
	k, dst, b := m.Argument("k"), m.Argument("dst"), m.Argument("b")
	stride, lanes := m.Argument("stride"), m.Argument("lanes")
	m.Label("loop")
	from := b
	if vectors == 2 {
		m.Store(m.Load(b, 0), dst, 0)
		from = m.GP()
		m.I("ADD $%d, R%r, R%w", arm64.Width, b, from)
	}
	m.Store(m.LoadFirst("last", from, lanes), dst, (vectors-1)*arm64.Width)
	m.I("ADD R%r, R%m", stride, b)
	m.I("ADD $%d, R%m", vectors*arm64.Width, dst)
	m.Repeat("loop", k)
	m.End()
}

func (m machine) packTransposed() {
	n := m.Lanes()
	m.Begin("packTransposed", "(count int, dst *T, next int, b *T, stride int)",
		fmt.Sprintf("writes column j of %[1]d rows of b at dst + j·next, for count·%[1]d columns.", n))
	count, dst, next := m.Argument("count"), m.Argument("dst"), m.Argument("next")
	rows := m.Pointers(m.Argument("b"), m.Argument("stride"), n)
	m.Label("loop")
	x := make([]arm64.Vec, n)
	for i := range x {
		x[i] = m.Load(rows[i], 0)
		m.I("ADD $%d, R%m", arm64.Width, rows[i])
	}
	for _, v := range m.Transpose(x) {
		m.Store(v, dst, 0)
		m.I("ADD R%r, R%m", next, dst)
	}
	m.Repeat("loop", count)
	m.End()
}
