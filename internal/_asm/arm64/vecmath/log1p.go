package vecmath

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// log1p writes log(1 + x) = k·ln 2 + log(1 + f) with 1 + f = (1 + x)/2^k between
// √½ and √2. With s = f/(2 + f) the second logarithm is 2·artanh s, summed as in
// fdlibm:
//
//	f − (f²/2 − s·(f²/2 + R(s²))),  R(z) = z·(c₀ + c₁z + …).
//
// With elu it is log(1 + max(x, 0)) + min(x, 0).
func (m machine) log1p(elu bool) {
	if elu {
		m.Begin("logELU", "(dst, x *T, n int)", "sets dst[i] = log(1 + x[i]) where x[i] ≥ 0 and x[i] elsewhere, for n elements; NaN for −Inf.")
	} else {
		m.Begin("log1p", "(dst, x *T, n int)", "sets dst[i] = log(1 + x[i]) for n elements.")
	}
	dst, x, n := m.Argument("dst"), m.Argument("x"), m.Argument("n")
	bias := of(m, uint64(127), 1023)
	toFloat := of(m, 0x1p23, 0x1p52)
	zero, one := m.Zero(), m.Value(1)
	coefficients := m.constants(minimax.Log1p)
	ln2 := m.constants(minimax.Ln2)
	m.loop("block", n, 2, func(b block) {
		v := b.load(x)
		all := func(f func(i int) arm64.Vec) []arm64.Vec { return each(b.k, f) }
		var below []arm64.Vec
		if elu {
			below = all(func(i int) arm64.Vec { return m.Min(v[i], zero) })
			v = all(func(i int) arm64.Vec { return m.Max(v[i], zero) })
		}
		// Exponents are those of numbers from √½ to √2 times a power of 2, with bias.
		offset := m.Pattern(bias<<m.fraction() - m.Bits(math.Sqrt2/2))
		e := all(func(i int) arm64.Vec { return m.Right(m.AddInt(m.Add(v[i], one), offset), m.fraction()) })
		// scale is 2^(2−k), a normal number for every k, and f = (x·scale)/4 + (scale/4 − 1)
		// is rounded at most once, or exact for k = 0.
		twice, quarter := m.Pattern(2*bias+2), m.Value(0.25)
		scale := all(func(i int) arm64.Vec { return m.Left(m.SubInt(twice, e[i]), m.fraction()) })
		f := all(func(i int) arm64.Vec {
			f := m.Value(-1)
			m.Plus(f, scale[i], quarter)
			m.Plus(f, m.Mul(v[i], scale[i]), quarter)
			return f
		})
		floatBits, float := m.Value(toFloat), m.Value(toFloat+float64(bias))
		k := all(func(i int) arm64.Vec { return m.Sub(m.Or(e[i], floatBits), float) })

		two, half := m.Value(2), m.Value(0.5)
		s := all(func(i int) arm64.Vec { return m.Div(f[i], m.Add(f[i], two)) })
		z := m.squares(s)
		square := all(func(i int) arm64.Vec { return m.Mul(m.Mul(f[i], half), f[i]) })
		r := m.polynomial(coefficients, z)
		high, low := m.Value(ln2[0]), m.Value(ln2[1])
		signBit := m.signBit()
		inf, minusInf := m.Value(math.Inf(1)), m.Value(math.Inf(-1))
		minusOne, nan := m.Value(-1), m.Value(math.NaN())
		b.store(all(func(i int) arm64.Vec {
			sum := m.Move(square[i])
			m.Plus(sum, r[i], z[i])
			rest := m.Mul(k[i], low)
			m.Plus(rest, sum, s[i])
			result := m.Sub(f[i], m.Sub(square[i], rest))
			m.Plus(result, k[i], high)
			// −0 lost its sign in the sums, and other results have the sign of x anyway.
			m.Into(result).Or(result, m.And(v[i], signBit))
			m.Choose(result, m.Equal(v[i], inf), v[i])
			m.Choose(result, m.Greater(minusOne, v[i]), nan)
			m.Choose(result, m.Equal(v[i], minusOne), minusInf)
			if elu {
				m.Into(result).Add(result, below[i])
				m.Into(result).Add(result, m.Sub(below[i], below[i]))
			}
			return result
		}), dst)
	})
	m.End()
}
