package recurrence_test

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// recurrenceShape is the size of an example.
type recurrenceShape struct {
	heads, keyHeads, d, dv int
	wide                   bool // a decay for every row of the sums
	shared                 bool // one β for all heads
}

// tokens returns n random tokens for a rule: keys of norm 1 or so, decays in (−1, 0), β in (0, 1).
func (s recurrenceShape) tokens(rng *rand.Rand, rule recurrence.Rule, n int) recurrence.Tokens[float64] {
	x := recurrence.Tokens[float64]{
		Q: densetest.Normal[float64](rng, n, s.heads*s.d, 0, 1),
		K: densetest.Normal[float64](rng, n, s.keyHeads*s.d, 0, 1/math.Sqrt(float64(s.d))),
		V: densetest.Normal[float64](rng, n, s.keyHeads*s.dv, 0, 1),
	}
	uniform := func(cols int, scale float64) dense.Matrix[float64] {
		m := dense.New[float64](n, cols)
		for i := range m.Data {
			m.Data[i] = scale * rng.Float64()
		}
		return m
	}
	if hasDecays(rule) {
		width := s.keyHeads
		if s.wide {
			width *= s.d
		}
		x.Decay = uniform(width, -1)
	}
	if hasBeta(rule) {
		width := s.keyHeads
		if s.shared {
			width = 1
		}
		x.Beta = uniform(width, 1)
	}
	return x
}

// convertTokens returns x in another type.
func convertTokens[To, From dense.Float](x recurrence.Tokens[From]) recurrence.Tokens[To] {
	convert := func(m dense.Matrix[From]) dense.Matrix[To] {
		if m.Rows == 0 && m.Cols == 0 {
			return dense.Matrix[To]{}
		}
		return dense.Copy(dense.Matrix[To]{}, m)
	}
	return recurrence.Tokens[To]{Q: convert(x.Q), K: convert(x.K), V: convert(x.V), Decay: convert(x.Decay), Beta: convert(x.Beta), Lengths: x.Lengths}
}

// naive is a recurrence token by token and element by element.
type naive struct {
	rule            recurrence.Rule
	heads, keyHeads int
	scale           float64
	normalise       bool
}

// head is what one head of keys of one sequence does.
type naiveHead struct {
	q       [][][]float64 // a token, a head of the group
	k, v, g [][]float64
	beta    []float64
}

func (m naive) head(x recurrence.Tokens[float64], head, lo, hi int) naiveHead {
	d, dv, group := x.K.Cols/m.keyHeads, x.V.Cols/m.keyHeads, m.heads/m.keyHeads
	var h naiveHead
	for i := lo; i < hi; i++ {
		var q [][]float64
		for j := head * group; j < (head+1)*group; j++ {
			q = append(q, x.Q.Row(i)[j*d:(j+1)*d])
		}
		h.q = append(h.q, q)
		k := append([]float64(nil), x.K.Row(i)[head*d:(head+1)*d]...)
		if m.normalise {
			sum := 1e-6
			for _, v := range k {
				sum += v * v
			}
			for c := range k {
				k[c] /= math.Sqrt(sum)
			}
		}
		h.k, h.v = append(h.k, k), append(h.v, x.V.Row(i)[head*dv:(head+1)*dv])
		g, beta := make([]float64, d), 0.0
		for c := range g {
			switch {
			case x.Decay.Cols == m.keyHeads:
				g[c] = x.Decay.Row(i)[head]
			case x.Decay.Cols > 0:
				g[c] = x.Decay.Row(i)[head*d+c]
			}
		}
		if x.Beta.Cols > 0 {
			beta = x.Beta.Row(i)[head%x.Beta.Cols]
		}
		h.g, h.beta = append(h.g, g), append(h.beta, beta)
	}
	return h
}

// step takes token i into s.
func (m naive) step(s [][]float64, h naiveHead, i int) {
	before := make([]float64, len(h.v[i])) // what S holds for its key
	for c := range s {
		for e := range s[c] {
			s[c][e] *= math.Exp(h.g[i][c])
			before[e] += h.k[i][c] * s[c][e]
		}
	}
	for c := range s {
		for e := range s[c] {
			if hasBeta(m.rule) {
				s[c][e] += h.beta[i] * h.k[i][c] * (h.v[i][e] - before[e])
			} else {
				s[c][e] += h.k[i][c] * h.v[i][e]
			}
		}
	}
}

// rowsOfSums returns copies of the rows of part i of sums, zeros of nothing.
func rowsOfSums(past dense.Matrix[float64], i, dk, dv int) [][]float64 {
	s := make([][]float64, dk)
	for c := range s {
		s[c] = make([]float64, dv)
		if past.Rows > 0 {
			copy(s[c], past.Row(i*dk+c))
		}
	}
	return s
}

func (m naive) forward(x recurrence.Tokens[float64], past dense.Matrix[float64]) (out, present dense.Matrix[float64]) {
	d, dv, group := x.K.Cols/m.keyHeads, x.V.Cols/m.keyHeads, m.heads/m.keyHeads
	scale := m.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(d))
	}
	from := layout.Starts(nil, x.Lengths, x.K.Rows)
	out, present = dense.New[float64](x.K.Rows, m.heads*dv), dense.New[float64]((len(from)-1)*m.keyHeads*d, dv)
	for at := range len(from) - 1 {
		for head := range m.keyHeads {
			part := at*m.keyHeads + head
			s, h := rowsOfSums(past, part, d, dv), m.head(x, head, from[at], from[at+1])
			for i := range h.k {
				m.step(s, h, i)
				for j, q := range h.q[i] {
					row := out.Row(from[at] + i)[(head*group+j)*dv:][:dv]
					for c := range s {
						for e := range row {
							row[e] += scale * q[c] * s[c][e]
						}
					}
				}
			}
			for c := range s {
				copy(present.Row(part*d+c), s[c])
			}
		}
	}
	return out, present
}
