package bytedot

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

// raise goes down sixteen columns.
func (m machine) raise() {
	m.Begin("raise", "(dst, y *float32, stride, rows int)", "raises 16 numbers to what is larger in rows of y.")
	dst, y, stride, rows := m.Argument("dst"), m.Argument("y"), m.Bytes("stride"), m.Argument("rows")
	peaks := m.sixteen(dst)
	m.Label("row")
	for i, v := range m.sixteen(y) {
		m.Into(peaks[i]).MaxNumber(peaks[i], v)
	}
	m.I("ADD R%r, R%m", stride, y)
	m.Repeat("row", rows)
	m.StoreAll(peaks, dst, 0)
	m.End()
}

// weigh goes down sixteen columns, four rows at a time.
func (m machine) weigh() {
	m.Begin("weigh", "(dst *uint8, step int, totals *int32, y *float32, stride int, shifts *float32, groups int)",
		"writes the weights of 4·groups rows of 16 scores as bytes, step bytes from one group to the next, and adds them to totals.")
	dst, step, stride, groups := m.Argument("dst"), m.Argument("step"), m.Bytes("stride"), m.Argument("groups")
	to, shifts := m.Argument("totals"), m.sixteen(m.Argument("shifts"))
	rows, totals := m.Pointers(m.Argument("y"), stride, 4), m.sixteen(to)
	e, t := m.exponent(), m.thresholds()
	most, order, ones := m.Value(1<<16), m.interleave(), m.repeated(1)
	m.Label("group")
	halves := t.next()
	for i := range vectors {
		var pairs []arm64.Vec
		for r := 0; r < len(rows); r += 2 {
			x := m.Vecs(2)
			for s := range x {
				m.Into(x[s]).Sub(shifts[i], m.Load(rows[r+s], i*arm64.Width))
				m.Into(x[s]).MinNumber(x[s], most) // of NaN and a number the number is left
				m.Into(x[s]).ToInts(x[s])
			}
			pairs = append(pairs, e.weights(m.NarrowInts(x[0], x[1]), halves[r/2]))
		}
		w := m.shuffle(m.NarrowRight(pairs[0], pairs[1], octave.Down-1), order)
		m.Store(w, dst, i*arm64.Width)
		m.DotUnsigned(totals[i], w, ones)
	}
	m.I("ADD R%r, R%m", step, dst)
	for _, row := range rows {
		m.I("ADD R%r<<2, R%m", stride, row)
	}
	m.Repeat("group", groups)
	m.StoreAll(totals, to, 0)
	m.End()
}

// shuffle returns the bytes of v in an order.
func (m machine) shuffle(v, order arm64.Vec) arm64.Vec {
	w := m.Vec()
	m.I("VTBL V%r.B16, [V%r.B16], V%w.B16", order, v, w)
	return w
}

// thresholds reads halves of what belongs to rows, four at a time.
type thresholds struct {
	machine
	table, at arm64.GP
}

func (m machine) thresholds() thresholds {
	var table []uint64
	for row := range octave.Rows {
		table = append(table, 0x0001000100010001*uint64(octave.Half(row)))
	}
	t := thresholds{machine: m, table: m.Table(table), at: m.GP()}
	m.I("MOVD $0, R%w", t.at)
	return t
}

// next returns vectors with the halves of two rows each, four words of one and four of the other.
func (t thresholds) next() []arm64.Vec {
	from, v := t.GP(), t.Vecs(2)
	t.I("ADD R%r, R%r, R%w", t.at, t.table, from)
	t.LoadTo(v, from, 0)
	t.I("ADD $32, R%m", t.at)
	t.I("AND $%d, R%m", 8*octave.Rows-1, t.at)
	return v
}

// exponent holds the constants of 255·2^(−x) for integers x of 16 bits, in parts of an octave.
type exponent struct {
	machine
	many         arm64.Vec // octaves, of which no weight is left
	down         arm64.Vec // a shift by what belongs to 0 octaves, half a weight
	coefficients []arm64.Vec
}

func (m machine) exponent() exponent {
	e := exponent{machine: m, many: m.words(15), down: m.words(-1)}
	for _, c := range octave.Coefficients {
		e.coefficients = append(e.coefficients, m.words(c))
	}
	return e
}

// weights returns the weights of x with the given halves of thresholds, times 2^(Down−1).
func (e exponent) weights(x, halves arm64.Vec) arm64.Vec {
	rest := e.Vec()
	e.I("VSHL $%d, V%r.H8, V%w.H8", 16-octave.Bits, x, rest)
	p := e.MulInts(rest, e.coefficients[3])
	for i := 2; i > 0; i-- {
		e.I("VADD V%r.H8, V%r.H8, V%m.H8", e.coefficients[i], p, p)
		e.Into(p).MulInts(p, rest)
	}
	e.I("VADD V%r.H8, V%r.H8, V%m.H8", e.coefficients[0], p, p)
	// As unsigned numbers those below 0 are the largest.
	octaves := e.RightRounded(x, octave.Bits)
	e.I("VUMIN V%r.H8, V%r.H8, V%m.H8", e.many, octaves, octaves)
	e.I("VSUB V%r.H8, V%r.H8, V%m.H8", octaves, e.down, octaves)
	w := e.LeftRounded(p, octaves)
	e.I("VADD V%r.H8, V%r.H8, V%m.H8", halves, w, w)
	return w
}
