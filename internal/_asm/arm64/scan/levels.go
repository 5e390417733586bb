package scan

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// sums is the number of sums of a lane, and quads that of the vectors with the lanes of a block.
const (
	sums  = 4
	quads = blockBytes / arm64.Width
)

// levels writes the product of a query and levels.
func (m machine) levels(width int) {
	m.Begin(fmt.Sprintf("levels%d", width), "(dst *float32, rows *uint64, table, query *float32, n, words int)",
		fmt.Sprintf("sets dst[i] to the product of the query and the levels of row i, with codes of %d bits.", width))
	dst, rows, table, query := m.Argument("dst"), m.Argument("rows"), m.Argument("table"), m.Argument("query")
	n, words := m.Argument("n"), m.Argument("words")
	acc, total := m.Vecs(sums), m.Vecs(quads)
	quad, from, at, left, here := m.GP(), m.GP(), m.GP(), m.GP(), m.GP()
	var load func(words int)
	var body func(plus func(level arm64.Vec, j int))
	if width == 1 {
		load, body = m.bits(from, table)
	} else {
		load, body = m.nibbles(from, table, width)
	}
	m.rows(n, func() {
		for _, sum := range total {
			m.Into(sum).Zero()
		}
		m.I("MOVD $0, R%w", quad)
		m.I("MOVD R%r, R%w", words, left)
		// The same two words of every block, whose lanes are those of a vector.
		m.Label("quad")
		for _, sum := range acc {
			m.Into(sum).Zero()
		}
		m.I("ADD R%r, R%r, R%w", quad, rows, from)
		m.I("ADD R%r, R%r, R%w", quad, query, at)
		m.I("MOVD R%r, R%w", left, here)
		m.Label("block")
		m.I("CMP $2, R%r", here)
		m.I("BLT %j", "short")
		load(2)
		m.Label("body")
		body(func(level arm64.Vec, j int) {
			m.AddMul(level, m.Load(at, j*blockBytes), acc[j%sums])
		})
		m.I("ADD $%d, R%m", blockBytes, from)
		m.I("ADD $%d, R%m", 32/width*blockBytes, at)
		m.I("SUBS $%d, R%m", blockWords, here)
		m.I("BGT %j", "block")
		m.I("B %j", "sum")
		m.Label("short")
		m.I("CMP $1, R%r", here)
		m.I("BLT %j", "sum")
		load(1)
		m.I("B %j", "body")
		m.Label("sum")
		for h := sums / 2; h > 0; h /= 2 {
			for i := range h {
				m.Into(acc[i]).Add(acc[i], acc[i+h])
			}
		}
		// The sums of the first vector end in the last place.
		for i := quads - 1; i > 0; i-- {
			m.Into(total[i]).Move(total[i-1])
		}
		m.Into(total[0]).Move(acc[0])
		m.I("SUB $2, R%m", left)
		m.I("ADD $%d, R%m", arm64.Width, quad)
		m.I("CMP $%d, R%r", blockBytes, quad)
		m.I("BLT %j", "quad")
		m.I("ADD R%r<<3, R%m", words, rows)
		for h := quads / 2; h > 0; h /= 2 {
			for i := range h {
				m.Into(total[quads-1-i]).Add(total[quads-1-i], total[quads-1-i-h])
			}
		}
		sum, upper := total[quads-1], m.Vec()
		m.I("VEXT $8, V%r.B16, V%r.B16, V%w.B16", sum, sum, upper)
		m.Into(sum).Add(sum, upper)
		m.StoreElement(m.AddPairs(sum, sum), dst, 0)
		m.I("ADD $4, R%m", dst)
	})
}

// Functions bits and nibbles return a function that loads words, and a function that calls plus,
// for every j, with the levels of the codes j of four lanes.

// bits chooses between two levels.
func (m machine) bits(rows, table arm64.GP) (load func(words int), body func(plus func(level arm64.Vec, j int))) {
	codes := m.Vec()
	zero := m.Broadcast(table)
	second := m.CopyOf(table)
	m.I("ADD $4, R%m", second)
	one := m.Broadcast(second)
	masks := make([]arm64.Vec, 8)
	for b := range masks {
		masks[b] = m.Pattern(1 << b)
	}
	return func(words int) { m.loadWords(codes, rows, words) }, func(plus func(level arm64.Vec, j int)) {
		for j := range 32 {
			if j > 0 && j%len(masks) == 0 {
				m.Into(codes).Right(codes, len(masks))
			}
			level := m.Vec()
			m.I("VCMTST V%r.S4, V%r.S4, V%w.S4", codes, masks[j%len(masks)], level)
			m.I("VBSL V%r.B16, V%r.B16, V%m.B16", zero, one, level)
			plus(level, j)
		}
	}
}

// nibbles looks up the four bytes of 16 levels, in a vector for each byte. A nibble has two codes
// of 2 bits: the upper code does not matter, because the levels in the table repeat.
func (m machine) nibbles(rows, table arm64.GP, width int) (load func(words int), body func(plus func(level arm64.Vec, j int))) {
	codes, levels := m.Vec(), m.Vecs(4)
	m.LoadTo(levels, table, 0)
	var halves []arm64.Vec // even bytes, then odd ones
	for _, name := range []string{"VUZP1", "VUZP2"} {
		halves = append(halves, m.permute(name, "B16", levels[0], levels[1]), m.permute(name, "B16", levels[2], levels[3]))
	}
	var tables []arm64.Vec
	for _, name := range []string{"VUZP1", "VUZP2"} {
		tables = append(tables, m.permute(name, "B16", halves[0], halves[1]), m.permute(name, "B16", halves[2], halves[3]))
	}
	low := m.Constant(0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f)
	inByte := 8 / width
	return func(words int) { m.loadWords(codes, rows, words) }, func(plus func(level arm64.Vec, j int)) {
		for s := range inByte {
			index := codes
			if s > 0 {
				index = m.Vec()
				m.I("VUSHR $%d, V%r.B16, V%w.B16", s*width, codes, index)
			}
			if s*width < 4 {
				index = m.And(index, low)
			}
			var found []arm64.Vec
			for _, t := range tables {
				v := m.Vec()
				m.I("VTBL V%r.B16, [V%r.B16], V%w.B16", index, t, v)
				found = append(found, v)
			}
			even := []arm64.Vec{m.permute("VTRN1", "B16", found[0], found[1]), m.permute("VTRN1", "B16", found[2], found[3])}
			odd := []arm64.Vec{m.permute("VTRN2", "B16", found[0], found[1]), m.permute("VTRN2", "B16", found[2], found[3])}
			plus(m.permute("VTRN1", "H8", even[0], even[1]), s)
			plus(m.permute("VTRN1", "H8", odd[0], odd[1]), inByte+s)
			plus(m.permute("VTRN2", "H8", even[0], even[1]), 2*inByte+s)
			plus(m.permute("VTRN2", "H8", odd[0], odd[1]), 3*inByte+s)
		}
	}
}

// permute is Permute for lanes of any size.
func (m machine) permute(name, lanes string, a, b arm64.Vec) arm64.Vec {
	v := m.Vec()
	m.I("%s V%r.%s, V%r.%s, V%w.%s", name, b, lanes, a, lanes, v, lanes)
	return v
}
