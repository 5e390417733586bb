// Package cost predicts the cost of attention: the numbers of multiply-adds and exponentials
// of a call, and their time relative to each other. Nothing is measured at run time, so that
// choices by cost do not depend on the speed of a machine.
package cost

type Shape struct {
	Queries, Keys int  // Lq and Lk
	Dim, Values   int  // d and dv
	Features      int  // m, of random projections; exact attention has none
	Causal        bool // query i sees the keys j ≤ i only; Queries = Keys then
	ElementSize   int  // number of bytes of an element, 4 or 8
}

type Cost struct{ MACs, Exps float64 }

// expMACs32 and expMACs64 are the numbers of multiply-adds of float32 and float64 that take as
// long as one exponential with its maximum, subtraction and sum, measured with 512-bit vectors and
// d = dv = 64.
const (
	expMACs32 = 50
	expMACs64 = 60
)

const chunkRows = 64 // tokens of a chunk of causal linear attention

// Exact returns the cost MACs = P·(d + dv), Exps = P of exact attention, where P is the number of
// pairs that see each other, Lq·Lk or ½·L·(L+1).
func (s Shape) Exact() Cost {
	pairs := float64(s.Queries) * float64(s.Keys)
	if s.Causal {
		pairs = float64(s.Queries) * (float64(s.Queries) + 1) / 2
	}
	return Cost{MACs: pairs * (float64(s.Dim) + float64(s.Values)), Exps: pairs}
}

// Linear returns the cost of linear attention, MACs = (Lq + Lk)·m·(d + dv + 1) and Exps = (Lq +
// Lk)·m. Causal attention adds the pairs in chunks of c = 64 tokens, L·c·(m + dv + 1).
func (s Shape) Linear() Cost {
	lq, lk, m, sums := float64(s.Queries), float64(s.Keys), float64(s.Features), float64(s.Values)+1
	c := Cost{MACs: (lq + lk) * m * (sums + float64(s.Dim)), Exps: (lq + lk) * m}
	if s.Causal {
		c.MACs += lq * min(lq, chunkRows) * (m + sums)
	}
	return c
}

// Work returns the number of multiply-adds that take as long as c.
func (s Shape) Work(c Cost) float64 {
	if s.ElementSize == 8 {
		return c.MACs + expMACs64*c.Exps
	}
	return c.MACs + expMACs32*c.Exps
}
