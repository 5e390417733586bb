package bytedot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

func (m machine) spanRows() {
	m.Begin("spanRows", "(dst *uint32, x *float32, stride, rows, sixteens int)",
		"raises each of dst to the bits of the largest |x[j]| of a row of 16·sixteens elements.")
	dst, x, stride, rows := m.Argument("dst"), m.Argument("x"), m.Bytes("stride"), m.Argument("rows")
	mask := m.Pattern(1<<31 - 1)
	m.Label("row")
	row, left, most := m.CopyOf(x), m.Argument("sixteens"), m.Broadcast(dst)
	m.Label("sixteen")
	for _, v := range m.sixteen(row) {
		m.largest(most, m.And(v, mask))
	}
	m.I("ADD $%d, R%m", 4*lanes, row)
	m.Repeat("sixteen", left)
	span := m.Most(most)
	m.I("MOVW.P R%r, 4(R%m)", span, dst)
	m.I("ADD R%r, R%m", stride, x)
	m.Repeat("row", rows)
	m.End()
}

func (m machine) encodeRows() {
	m.Begin("encodeRows", "(dst *int8, step int, sums *int32, x *float32, stride int, factors *float32, rows, sixteens int)",
		"writes x·factor rounded to bytes for rows of 16·sixteens elements, and adds the bytes of a row to its sum.")
	dst, step, sums := m.Argument("dst"), m.Argument("step"), m.Argument("sums")
	x, stride, factors, rows := m.Argument("x"), m.Bytes("stride"), m.Argument("factors"), m.Argument("rows")
	ones := m.repeated(1)
	m.Label("row")
	row, to, left := m.CopyOf(x), m.CopyOf(dst), m.Argument("sixteens")
	factor, sum := m.BroadcastNext(factors), m.LoadElement(sums, 0)
	m.Label("sixteen")
	v := m.sixteen(row)
	for _, v := range v {
		m.Into(v).Mul(v, factor)
		m.Into(v).ToInts(v)
	}
	code := m.narrow(v)
	m.Store(code, to, 0)
	m.DotBytes(sum, code, ones)
	m.I("ADD $%d, R%m", 4*lanes, row)
	m.I("ADD $%d, R%m", codes, to)
	m.Repeat("sixteen", left)
	m.I("VADDV V%m.S4, V%m", sum, sum)
	m.StoreElement(sum, sums, 0)
	m.I("ADD $4, R%m", sums)
	m.I("ADD R%r, R%m", step, dst)
	m.I("ADD R%r, R%m", stride, x)
	m.Repeat("row", rows)
	m.End()
}

// narrow returns the integers of four vectors as bytes.
func (m machine) narrow(v []arm64.Vec) arm64.Vec {
	return m.NarrowWords(m.NarrowInts(v[0], v[1]), m.NarrowInts(v[2], v[3]))
}

func (m machine) spanColumns() {
	m.Begin("spanColumns", "(dst *uint32, x *float32, stride, rows int)", "raises the 16 of dst to the bits of the largest |x| of a column.")
	dst, x, stride, rows := m.Argument("dst"), m.Argument("x"), m.Bytes("stride"), m.Argument("rows")
	mask, most := m.Pattern(1<<31-1), m.sixteen(dst)
	m.Label("row")
	for i, v := range m.sixteen(x) {
		m.largest(most[i], m.And(v, mask))
	}
	m.I("ADD R%r, R%m", stride, x)
	m.Repeat("row", rows)
	m.StoreAll(most, dst, 0)
	m.End()
}

func (m machine) encodeColumns() {
	m.Begin("encodeColumns", "(dst *int8, sums *int32, x *float32, stride int, factors *float32, groups int)",
		"writes x·factor rounded to bytes for 4·groups rows of 16 elements, four bytes of a column side by side, and adds the bytes of a column to its sum.")
	dst, to, stride, groups := m.Argument("dst"), m.Argument("sums"), m.Bytes("stride"), m.Argument("groups")
	rows := m.Pointers(m.Argument("x"), stride, 4)
	sums, factors := m.sixteen(to), m.sixteen(m.Argument("factors"))
	order, ones := m.interleave(), m.repeated(1)
	m.Label("group")
	for i := range vectors {
		v := m.Vecs(4)
		for r, row := range rows {
			m.Into(v[r]).Mul(m.Load(row, i*arm64.Width), factors[i])
			m.Into(v[r]).ToInts(v[r])
		}
		code := m.shuffle(m.narrow(v), order)
		m.Store(code, dst, i*arm64.Width)
		m.DotBytes(sums[i], code, ones)
	}
	m.I("ADD $%d, R%m", lanes*groupBytes, dst)
	for _, row := range rows {
		m.I("ADD R%r<<2, R%m", stride, row)
	}
	m.Repeat("group", groups)
	m.StoreAll(sums, to, 0)
	m.End()
}

// transpose takes four rows and four groups at a time.
func (m machine) transpose() {
	m.Begin("transpose", "(dst *uint8, step int, codes *int8, row, groups int)",
		"writes the groups of four bytes of 16 rows, plus 128, those at the same place side by side and step bytes from one place to the next.")
	dst, step, row, groups := m.Argument("dst"), m.Argument("step"), m.Argument("row"), m.Argument("groups")
	signs := m.repeated(128)
	rows := m.Pointers(m.Argument("codes"), row, lanes)
	for part := range vectors {
		label := fmt.Sprintf("part%d", part)
		to, left := m.CopyOf(dst), m.CopyOf(groups)
		m.Label(label)
		var x []arm64.Vec
		for _, row := range rows[4*part : 4*part+4] {
			x = append(x, m.Xor(m.Load(row, 0), signs))
			m.I("ADD $%d, R%m", arm64.Width, row)
		}
		for _, v := range m.Transpose(x) {
			m.Store(v, to, part*arm64.Width)
			m.I("ADD R%r, R%m", step, to)
			m.I("SUBS $1, R%m", left)
			m.I("BEQ %j", label+"Done")
		}
		m.I("B %j", label)
		m.Label(label + "Done")
	}
	m.End()
}
