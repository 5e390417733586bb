package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// moments are what queries need of clusters that are far away: the number n_c of keys, their mean
// μ_c, the variance t_c of a coordinate and the mean v̄_c of their values.
type moments[T dense.Float] struct {
	counts []int
	terms  dense.Matrix[T]  // C×(d+2): μ_c, log n_c/s, t_c
	packed matmul.Packed[T] // C×(dv+1): v̄_c, 1
	means  dense.Matrix[T]

	memory [2]scratch.Buffer[T]
}

// shape makes room for the moments of c clusters.
func (m *moments[T]) shape(c, d, dv int) {
	m.counts = scratch.Resize(m.counts, c)
	m.memory[0].Shape(c, d+2)
	m.memory[1].Shape(c, dv+1)
	m.terms, m.means = m.memory[0].Rows(c), m.memory[1].Rows(c)
}

// spread returns t_c.
func (m *moments[T]) spread(c int) T { return m.terms.Row(c)[m.terms.Cols-1] }

// set sets the moments of cluster c from the sums over its n keys.
func (m *moments[T]) set(c, n int, origin []T, t *tally[T], scale float64) {
	d, dv := len(t.keys), len(t.values)
	m.counts[c] = n
	term, mean := m.terms.Row(c), m.means.Row(c)
	if n == 0 {
		clear(term)
		clear(mean)
		term[d] = T(math.Inf(-1))
		return
	}
	vecmath.Affine(term[:d], t.keys, 1/T(n), 0)
	distance := 2 * vecmath.HalfSquaredNorm(term[:d])
	vecmath.AddScaled(term[:d], origin, 1)
	term[d] = T(math.Log(float64(n)) / scale)
	term[d+1] = T(max(t.squares/float64(n)-distance, 0) / float64(d))
	vecmath.Affine(mean[:dv], t.values, 1/T(n), 0)
	mean[dv] = 1
}

// pack is to be called when all moments are set.
func (m *moments[T]) pack() { matmul.Pack(&m.packed, m.means) }
