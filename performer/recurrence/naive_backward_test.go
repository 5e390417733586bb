package recurrence_test

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// backward is the adjoint of forward, one token after another from the last to the first.
func (m naive) backward(x recurrence.Tokens[float64], past, dout, dpresent dense.Matrix[float64]) (dx recurrence.Tokens[float64], dpast dense.Matrix[float64]) {
	d, dv := x.K.Cols/m.keyHeads, x.V.Cols/m.keyHeads
	from := layout.Starts(nil, x.Lengths, x.K.Rows)
	like := func(a dense.Matrix[float64]) dense.Matrix[float64] { return dense.New[float64](a.Rows, a.Cols) }
	dx = recurrence.Tokens[float64]{Q: like(x.Q), K: like(x.K), V: like(x.V), Decay: like(x.Decay), Beta: like(x.Beta)}
	dpast = dense.New[float64]((len(from)-1)*m.keyHeads*d, dv)
	for at := range len(from) - 1 {
		for head := range m.keyHeads {
			part := at*m.keyHeads + head
			ds := rowsOfSums(dpresent, part, d, dv)
			m.backwardHead(dx, m.head(x, head, from[at], from[at+1]), rowsOfSums(past, part, d, dv), ds, dout, head, from[at])
			for c := range ds {
				copy(dpast.Row(part*d+c), ds[c])
			}
		}
	}
	return dx, dpast
}

// backwardHead takes ds from the end of a head to its beginning.
func (m naive) backwardHead(dx recurrence.Tokens[float64], h naiveHead, s, ds [][]float64, dout dense.Matrix[float64], head, lo int) {
	n, d, dv, group := len(h.k), len(s), dout.Cols/m.heads, m.heads/m.keyHeads
	scale := m.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(d))
	}
	clone := func(s [][]float64) (c [][]float64) {
		for _, row := range s {
			c = append(c, append([]float64(nil), row...))
		}
		return c
	}
	states, errors := [][][]float64{clone(s)}, [][]float64{}
	for i := range n {
		before := m.step(s, h, i)
		for e := range before {
			before[e] = h.v[i][e] - before[e]
		}
		states, errors = append(states, clone(s)), append(errors, before)
	}
	for i := n - 1; i >= 0; i-- {
		dk := make([]float64, d)
		dv1 := dx.V.Row(lo + i)[head*dv : (head+1)*dv]
		for j := range group {
			do := dout.Row(lo + i)[(head*group+j)*dv:][:dv]
			dq := dx.Q.Row(lo + i)[(head*group+j)*d:][:d]
			for c := range d {
				for e := range dv {
					dq[c] += scale * states[i+1][c][e] * do[e]
					ds[c][e] += scale * h.q[i][j][c] * do[e]
				}
			}
		}
		decayed := clone(states[i])
		dbeta := 0.0
		for c := range d {
			for e := range dv {
				decayed[c][e] *= math.Exp(h.g[i][c])
				if hasBeta(m.rule) {
					dbeta += h.k[i][c] * ds[c][e] * errors[i][e]
					dk[c] += h.beta[i] * ds[c][e] * errors[i][e]
					dv1[e] += h.beta[i] * ds[c][e] * h.k[i][c]
				} else {
					dk[c] += ds[c][e] * h.v[i][e]
					dv1[e] += ds[c][e] * h.k[i][c]
				}
			}
		}
		for c := range d {
			dg := 0.0
			for e := range dv {
				if hasBeta(m.rule) {
					dk[c] -= decayed[c][e] * dv1[e]
					ds[c][e] -= h.k[i][c] * dv1[e]
				}
				dg += ds[c][e] * decayed[c][e]
				ds[c][e] *= math.Exp(h.g[i][c])
			}
			switch dx.Decay.Cols {
			case 0:
			case m.keyHeads:
				dx.Decay.Row(lo + i)[head] += dg
			default:
				dx.Decay.Row(lo + i)[head*d+c] = dg
			}
		}
		if dx.Beta.Cols > 0 {
			dx.Beta.Row(lo + i)[head%dx.Beta.Cols] += dbeta
		}
		m.backwardKey(dx.K.Row(lo + i)[head*d:(head+1)*d], dk, h.raw[i])
	}
}

// backwardKey writes the gradient of a key before it is normalised.
func (m naive) backwardKey(dst, dk, raw []float64) {
	copy(dst, dk)
	if !m.normalise {
		return
	}
	sum, dot := 1e-6, 0.0
	for c, v := range raw {
		sum += v * v
		dot += v * dk[c]
	}
	for c, v := range raw {
		dst[c] = dk[c]/math.Sqrt(sum) - v*dot/(sum*math.Sqrt(sum))
	}
}
