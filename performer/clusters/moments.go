package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// moments hold, for each cluster, the number n_c of keys, their mean μ_c, the variance t_c of a
// coordinate and the mean v̄_c of the values.
type moments[T dense.Float] struct {
	counts []int
	terms  dense.Matrix[T]  // C×(d+2): μ_c, log n_c/s, t_c
	means  dense.Matrix[T]  // C×(dv+1): v̄_c, 1
	packed matmul.Packed[T] // means

	memory [2]scratch.Buffer[T]
}

// shape makes room for the moments of c clusters.
func (m *moments[T]) shape(c, d, dv int) {
	m.counts = scratch.Resize(m.counts, c)
	m.memory[0].Shape(c, d+2)
	m.memory[1].Shape(c, dv+1)
	m.terms, m.means = m.memory[0].Rows(c), m.memory[1].Rows(c)
}

// variance returns t_c.
func (m *moments[T]) variance(c int) T { return m.terms.Row(c)[m.terms.Cols-1] }

// set computes the moments of cluster c from the sums over its n keys.
func (m *moments[T]) set(c, n int, centre []T, t *keySums[T], scale float64) {
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
	vecmath.AddScaled(term[:d], centre, 1)
	term[d] = T(math.Log(float64(n)) / scale)
	term[d+1] = T(max(t.squares/float64(n)-distance, 0) / float64(d))
	vecmath.Affine(mean[:dv], t.values, 1/T(n), 0)
	mean[dv] = 1
}

// uncertain writes the queries that score the keys of cluster c to list, and returns their number.
// Each query has its weight w_ic in weights, s²‖q‖²/2 in norms, and (τ·D)² in bounds.
func (m *moments[T]) uncertain(list []int32, c int, weights, norms, bounds []T) int {
	if m.counts[c] < 2 { // the mean is the key
		return 0
	}
	return vecmath.Uncertain(list, weights, norms, 2*m.variance(c), 1/T(m.counts[c]), bounds)
}

// keySums are sums over the keys of a cluster: of the differences from the centre, of their squared
// norms, and of the values.
type keySums[T dense.Float] struct {
	keys, values, difference []T
	squares                  float64
	memory                   []T
}

func (t *keySums[T]) begin(d, dv int) {
	t.memory = scratch.Resize(t.memory, 2*d+dv)
	x := t.memory
	clear(x)
	t.keys, t.difference, t.values = x[:d], x[d:2*d], x[2*d:]
	t.squares = 0
}

// add adds a key and its value.
func (t *keySums[T]) add(centre, key, value []T) {
	copy(t.difference, key)
	vecmath.AddScaled(t.difference, centre, -1)
	t.squares += 2 * vecmath.HalfSquaredNorm(t.difference)
	vecmath.AddScaled(t.keys, t.difference, 1)
	vecmath.AddScaled(t.values, value, 1)
}
