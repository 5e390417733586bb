package scan

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// The layout of digits of package scan: four words of constants, and then, for every 16 bytes of a
// row, a strip of 16 bytes for each digit of the codes in a byte.
const (
	stripBytes    = arm64.Width
	constantBytes = 32
)

// group is the number of rows that a kernel takes at a time. The last step ends at the last row,
// and computes some rows twice. With fewer rows in all, a kernel takes one row at a time, with a
// stride of 0.
const group = 4

// products subtracts 128 from codes of 8 bits, so that they are signed. dot allows SDOT.
func (m machine) products(width int, dot bool) {
	name, doc := "products", "sets dst[k·stride+i] to the product of row i with query k, as the reference does."
	if !dot {
		name = "wideProducts"
	} else {
		doc += " It needs SDOT."
	}
	m.Begin(fmt.Sprintf("%s%d", name, width), "(dst *float32, rows, digits *uint64, n, words, queries, stride int)", doc)
	dst, rows, n, words := m.Argument("dst"), m.Argument("rows"), m.Argument("n"), m.Argument("words")
	line, length, count := m.GP(), m.GP(), m.GP()
	m.I("LSL $3, R%r, R%w", words, length)
	m.I("MOVD R%r, R%w", length, line)
	m.I("MOVD $%d, R%w", group, count)
	m.I("CMP $%d, R%r", group, n)
	m.I("BGE %j", "several")
	m.I("MOVD $0, R%w", line)
	m.I("MOVD $1, R%w", count)
	m.Label("several")

	perByte := 8 / width
	constant := 0
	var change arm64.Vec
	if width == 8 {
		constant = constantBytes / 2
		change = m.Constant(0x8080808080808080, 0x8080808080808080)
	} else {
		mask := uint64(1<<width-1) * 0x0101010101010101
		change = m.Constant(mask, mask)
	}
	power := m.Value(256)
	digits := min(2, (width+1)/2)
	sums := m.Vecs(digits * group) // high, then low
	codes := m.Vecs(group)
	add := func(sum, codes, digit arm64.Vec) {
		if dot {
			m.DotBytes(sum, codes, digit)
			return
		}
		m.AccumulateInts(sum, m.MulBytes(codes, digit))
		m.AccumulateInts(sum, m.MulUpperBytes(codes, digit))
	}

	m.Label("tile")
	query, left, to := m.Argument("digits"), m.Argument("queries"), m.CopyOf(dst)
	stride := m.Argument("stride")
	m.I("LSL $2, R%m", stride)
	m.Label("query")
	for _, s := range sums {
		m.Into(s).Zero()
	}
	from := m.Pointers(m.CopyOf(rows), line, group)
	strips, at := m.GP(), m.GP()
	m.I("ADD $%d, R%r, R%w", constantBytes, query, at)
	m.I("LSR $1, R%r, R%w", words, strips)
	m.I("CBZ R%r, %j", strips, "last")
	m.Label("strip")
	strip := func(load func(p arm64.GP, codes arm64.Vec)) {
		for i, p := range from {
			load(p, codes[i])
			if width == 8 {
				m.Into(codes[i]).Xor(codes[i], change)
			}
		}
		for j := range perByte {
			query := m.Vecs(digits)
			m.LoadTo(query, at, digits*j*stripBytes)
			for i, c := range codes {
				if width < 8 {
					c = m.part(c, change, width, j)
				}
				for g, digit := range query {
					add(sums[g*group+i], c, digit)
				}
			}
		}
		m.I("ADD $%d, R%m", digits*perByte*stripBytes, at)
	}
	strip(func(p arm64.GP, codes arm64.Vec) {
		m.Into(codes).Load(p, 0)
		m.I("ADD $%d, R%m", stripBytes, p)
	})
	m.Repeat("strip", strips)
	m.Label("last")
	m.I("TBZ $0, R%r, %j", words, "sum")
	strip(func(p arm64.GP, codes arm64.Vec) { m.I("FMOVD (R%r), F%w", p, codes) })
	m.Label("sum")
	var total arm64.Vec
	for i := range digits {
		s := sums[i*group:][:group]
		sum := m.integers("VADDP", m.integers("VADDP", s[0], s[1]), m.integers("VADDP", s[2], s[3]))
		place := m.CopyOf(query)
		m.I("ADD $%d, R%m", constant+8*(2-digits+i), place)
		digit := m.ToFloats(m.SubInt(m.AddInt(sum, sum), m.Broadcast(place)))
		if i > 0 {
			m.AddMul(total, power, digit)
		}
		total = digit
	}
	m.I("CMP $1, R%r", count)
	m.I("BEQ %j", "one")
	m.Store(total, to, 0)
	m.I("B %j", "stored")
	m.Label("one")
	m.StoreElement(total, to, 0)
	m.Label("stored")
	m.I("MOVD R%r, R%w", at, query)
	m.I("ADD R%r, R%m", stride, to)
	m.Repeat("query", left)

	back := m.GP()
	m.I("SUBS R%r, R%m", count, n)
	m.I("BEQ %j", "done")
	m.I("ADD R%r<<2, R%m", count, dst)
	m.I("MUL R%r, R%r, R%w", count, length, back)
	m.I("ADD R%r, R%m", back, rows)
	m.I("SUBS R%r, R%r, R%w", n, count, back)
	m.I("BLE %j", "tile")
	m.I("ADD R%r, R%m", back, n)
	m.I("SUB R%r<<2, R%m", back, dst)
	m.I("MUL R%r, R%m", length, back)
	m.I("SUB R%r, R%m", back, rows)
	m.I("B %j", "tile")
	m.Label("done")
	m.End()
}

func (m machine) integers(name string, a, b arm64.Vec) arm64.Vec { return m.permute(name, "S4", a, b) }

// part returns codes j of all bytes, from the lowest bits on.
func (m machine) part(codes, mask arm64.Vec, width, j int) arm64.Vec {
	if j > 0 {
		shifted := m.Vec()
		m.I("VUSHR $%d, V%r.B16, V%w.B16", j*width, codes, shifted)
		codes = shifted
	}
	if (j+1)*width == 8 {
		return codes
	}
	return m.And(codes, mask)
}

// permute is Permute for lanes of any size.
func (m machine) permute(name, lanes string, a, b arm64.Vec) arm64.Vec {
	v := m.Vec()
	m.I("%s V%r.%s, V%r.%s, V%w.%s", name, b, lanes, a, lanes, v, lanes)
	return v
}
