package scan

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// levelProducts multiplies the two bytes of levels, less 128. Registers hold the upper bytes and
// the lower bytes. For codes of 8 bits these are the bytes for the codes below 128. The bytes of
// the other codes are their complements, in the opposite order.
func (m machine) levelProducts(width int, dot bool) {
	name, doc := "levelProducts", "sets dst[k·stride+i] to the product of the levels of row i with query k, as the reference does."
	if !dot {
		name = "wideLevelProducts"
	} else {
		doc += " It needs SDOT."
	}
	m.Begin(fmt.Sprintf("%s%d", name, width), "(dst *float32, rows, table, digits *uint64, n, words, queries, stride int)", doc)
	dst, rows, n, words := m.Argument("dst"), m.Argument("rows"), m.Argument("n"), m.Argument("words")
	line := m.GP()
	m.I("LSL $3, R%r, R%w", words, line)
	levels := m.Vecs(2) // first of all, so that they are adjacent
	if width == 8 {
		levels = append(levels, m.Vecs(2*128/arm64.Width-2)...)
	}
	m.LoadTo(levels, m.Argument("table"), 0)
	middle := m.Constant(0x8080808080808080, 0x8080808080808080)
	for _, v := range levels {
		m.Into(v).Xor(v, middle)
	}
	var find func(codes arm64.Vec, p int) []arm64.Vec
	if width == 8 {
		find = m.findPairs(levels)
	} else {
		mask := uint64(1<<width-1) * 0x0101010101010101
		places := m.Constant(mask, mask)
		find = func(codes arm64.Vec, p int) []arm64.Vec {
			place, bytes := m.part(codes, places, width, p), m.Vecs(2)
			for i, b := range bytes {
				m.I("VTBL V%r.B16, [V%r.B16], V%w.B16", place, levels[i], b)
			}
			return bytes
		}
	}
	power := m.Value(256)
	each := digitsOf(width)
	sums := m.Vecs(1 + each)
	codes := m.Vec()
	stride := m.Argument("stride")
	m.I("LSL $2, R%m", stride)

	m.Label("row")
	query, left, to := m.Argument("digits"), m.Argument("queries"), m.CopyOf(dst)
	m.Label("query")
	for _, s := range sums {
		m.Into(s).Zero()
	}
	p, strips, at := m.CopyOf(rows), m.GP(), m.GP()
	m.I("ADD $%d, R%r, R%w", constantBytes, query, at)
	m.I("LSR $1, R%r, R%w", words, strips)
	m.I("CBZ R%r, %j", strips, "last")
	strip := func() {
		for p := range 8 / width {
			bytes, digits := find(codes, p), m.Vecs(each)
			m.LoadTo(digits, at, 0)
			m.I("ADD $%d, R%m", each*stripBytes, at)
			for i, b := range bytes {
				for j, digit := range digits {
					if dot {
						m.DotBytes(sums[i+j], b, digit)
					} else {
						m.AccumulateInts(sums[i+j], m.MulBytes(b, digit))
						m.AccumulateInts(sums[i+j], m.MulUpperBytes(b, digit))
					}
				}
			}
		}
	}
	m.Label("strip")
	m.Into(codes).Load(p, 0)
	m.I("ADD $%d, R%m", stripBytes, p)
	strip()
	m.Repeat("strip", strips)
	m.Label("last")
	m.I("TBZ $0, R%r, %j", words, "sum")
	m.I("FMOVD (R%r), F%w", p, codes)
	strip()
	m.Label("sum")
	// The sums of lanes, less the constants, by Horner's scheme.
	high, low := m.GP(), m.GP()
	m.I("MOVW %d(R%r), R%w", constantBytes/2, query, high)
	m.I("MOVW %d(R%r), R%w", constantBytes/2+8, query, low)
	lanes := m.integers("VADDP", m.integers("VADDP", sums[0], sums[1]), m.integers("VADDP", sums[each], sums[each]))
	total := m.Vec()
	constants := [][]arm64.GP{{high}, {high, low}, {low}}
	if each == 1 {
		constants = [][]arm64.GP{{low}, {low}}
	}
	for i, constants := range constants {
		sum, v := m.GP(), m.Vec()
		m.I("VMOV V%r.S[%d], R%w", lanes, i, sum)
		m.I("ADDW R%r, R%m", sum, sum)
		for _, c := range constants {
			m.I("SUBW R%r, R%m", c, sum)
		}
		m.I("SCVTFWS R%r, F%w", sum, v)
		if i > 0 {
			m.AddMul(total, power, v)
		}
		m.Into(total).Move(v)
	}
	m.StoreElement(total, to, 0)
	m.I("MOVD R%r, R%w", at, query)
	m.I("ADD R%r, R%m", stride, to)
	m.Repeat("query", left)
	m.I("ADD $4, R%m", dst)
	m.I("ADD R%r, R%m", line, rows)
	m.Repeat("row", n)
	m.End()
}

// findPairs returns a function that looks up codes of 8 bits in 32 of the levels at a time.
func (m machine) findPairs(levels []arm64.Vec) func(codes arm64.Vec, _ int) []arm64.Vec {
	next := m.Constant(0x2020202020202020, 0x2020202020202020)
	return func(codes arm64.Vec, _ int) []arm64.Vec {
		upper := m.NegativeBytes(codes) // those from 128 on
		m.Into(codes).Xor(codes, upper)
		bytes := m.Vecs(2)
		for i := 0; i < len(levels)/2; i += 2 {
			for j, b := range bytes {
				// What is not in the part is 0.
				part, found := levels[8*j+i:][:2], b
				if i > 0 {
					found = m.Vec()
				}
				m.I("VTBL V%r.B16, [V%r.B16, V%r.B16], V%w.B16", codes, part[0], part[1], found)
				if i > 0 {
					m.Into(b).Or(b, found)
				}
			}
			if i < len(levels)/2-2 {
				m.I("VSUB V%r.B16, V%m.B16, V%m.B16", next, codes, codes)
			}
		}
		for _, b := range bytes {
			m.Into(b).Xor(b, upper)
		}
		return bytes
	}
}
