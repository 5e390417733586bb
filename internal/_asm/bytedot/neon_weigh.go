package bytedot

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

func (m neon) weigher() weigher[arm64.Vec] {
	weights, halves := m.exponential(), m.thresholds()
	most, order, ones := m.Value(1<<16), m.interleave(), m.repeated(1)
	return weigher[arm64.Vec]{halves, func(a, b arm64.Vec) arm64.Vec {
		for _, v := range []arm64.Vec{a, b} {
			m.Into(v).MinNumber(v, most) // a number if v is NaN
			m.Into(v).ToInts(v)
		}
		return m.NarrowInts(a, b)
	}, weights, func(a, b, total arm64.Vec) arm64.Vec {
		w := m.shuffle(m.NarrowRight(a, b, octave.Down-1), order)
		m.DotUnsigned(total, w, ones)
		return w
	}}
}

func (m neon) shuffle(v, order arm64.Vec) arm64.Vec {
	w := m.Vec()
	m.I("VTBL V%r.B16, [V%r.B16], V%w.B16", order, v, w)
	return w
}

// thresholds returns a function for the halves of the thresholds of the next four rows: a vector
// has four words for each of two rows.
func (m neon) thresholds() func() [2]arm64.Vec {
	var halves []uint64
	for row := range octave.Rows {
		halves = append(halves, 0x0001000100010001*uint64(octave.Half(row)))
	}
	table, at := m.Table(halves), m.counter(0)
	return func() [2]arm64.Vec {
		from, v := m.GP(), m.Vecs(2)
		m.I("ADD R%r, R%r, R%w", at, table, from)
		m.LoadTo(v, from, 0)
		m.Advance(at, 32)
		m.I("AND $%d, R%m", 8*octave.Rows-1, at)
		return [2]arm64.Vec(v)
	}
}

// exponential returns a function for 255·2^(−x) plus halves of thresholds, times 2^(Down−1). x are
// integers of 16 bits, in parts of an octave.
func (m neon) exponential() func(x, halves arm64.Vec) arm64.Vec {
	many := m.words(15) // octaves, after which the weight is 0
	down := m.words(-1) // a shift by 0 octaves, of half a weight
	var coefficients []arm64.Vec
	for _, c := range octave.Coefficients {
		coefficients = append(coefficients, m.words(c))
	}
	return func(x, halves arm64.Vec) arm64.Vec {
		rest := m.Vec()
		m.I("VSHL $%d, V%r.H8, V%w.H8", 16-octave.Bits, x, rest)
		p := m.MulInts(rest, coefficients[3])
		for i := 2; i > 0; i-- {
			m.I("VADD V%r.H8, V%r.H8, V%m.H8", coefficients[i], p, p)
			m.Into(p).MulInts(p, rest)
		}
		m.I("VADD V%r.H8, V%r.H8, V%m.H8", coefficients[0], p, p)
		// As unsigned integers the negative octaves are the largest.
		octaves := m.RightRounded(x, octave.Bits)
		m.I("VUMIN V%r.H8, V%r.H8, V%m.H8", many, octaves, octaves)
		m.I("VSUB V%r.H8, V%r.H8, V%m.H8", octaves, down, octaves)
		w := m.LeftRounded(p, octaves)
		m.I("VADD V%r.H8, V%r.H8, V%m.H8", halves, w, w)
		return w
	}
}
