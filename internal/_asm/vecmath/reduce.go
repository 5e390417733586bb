package vecmath

import (
	"math"

	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

func (m writer[V, G]) peak() {
	m.Begin("peak", "(x *T, n int) T", "returns the largest of n elements of x that is finite, or −Inf.")
	x, n := m.Argument("x"), m.Argument("n")
	inf, minusInf := m.Value(math.Inf(1)), m.Value(math.Inf(-1))
	m.returnLargest(m.largest(n, 4, inf, minusInf, func(b position[V, G]) []V { return b.loadOr(x, minusInf) }))
}

// peakSum writes the place of the largest finite sum, which a second loop looks for.
func (m writer[V, G]) peakSum() {
	m.Begin("peakSum", "(x, a, b *T, n int) int", "returns the first index of the largest finite (x[i] + a[i]) + b[i] of n, or −1.")
	x, p, q, n := m.Argument("x"), m.Argument("a"), m.Argument("b"), m.Argument("n")
	inf, minusInf := m.Value(math.Inf(1)), m.Value(math.Inf(-1))
	sums := func(b position[V, G], v []V, p, q G) []V {
		Each(m.Add, v, b.load(p), v)
		return Each(m.Add, v, b.load(q), v)
	}
	x2, p2, q2 := m.again(x), m.again(p), m.again(q)
	acc := m.largest(n, 2, inf, minusInf, func(b position[V, G]) []V { return sums(b, b.loadOr(x, minusInf), p, q) })
	m.returnPlace(acc, minusInf, n, func(b position[V, G]) []V { return sums(b, b.load(x2), p2, q2) })
}

// largest writes a loop in blocks of k vectors. Each element of the result is the largest finite
// number among such elements of the vectors.
func (m writer[V, G]) largest(n G, k int, inf, minusInf V, vectors func(b position[V, G]) []V) V {
	acc := m.Vecs(k)
	for i := range acc {
		m.Move(minusInf, acc[i])
	}
	m.loop("block", n, k, func(b position[V, G]) {
		v := vectors(b)
		for i := range v {
			mask := m.below(v[i], inf)
			finite := m.Move(minusInf)
			m.choose(mask, v[i], finite)
			v[i] = finite
		}
		Each(m.Max, acc, v, acc)
	})
	for h := k / 2; h > 0; h /= 2 {
		Each(m.Max, acc[:h], acc[h:2*h], acc)
	}
	return acc[0]
}
