package orf_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
)

// haarZ returns the largest deviation, in standard errors, of moments of d×d
// matrices from those of the Haar law on O(d): every entry has mean 0 and mean
// square 1/d, the trace has mean square 1, and the two mixed fourth moments of
// a 2×2 minor are known (B. Collins, P. Śniady: Integration with respect to the
// Haar measure on unitary, orthogonal and symplectic group. Communications in
// Mathematical Physics 264, 2006).
func haarZ(d, draws int, draw func() dense.Matrix[float64]) float64 {
	var m moments
	for range draws {
		q := draw()
		var values []float64
		trace := 0.0
		for i := range d {
			for j := range d {
				v := q.At(i, j)
				values = append(values, v, v*v)
			}
			trace += q.At(i, i)
		}
		a, b, c, e := q.At(0, 0), q.At(0, 1), q.At(1, 0), q.At(1, 1)
		m.add(append(values, trace*trace, a*a*e*e, a*b*c*e)...)
	}
	n := float64(d)
	var want []float64
	for range d * d {
		want = append(want, 0, 1/n)
	}
	return m.z(append(want, 1, (n+1)/((n-1)*n*(n+2)), -1/((n-1)*n*(n+2)))...)
}

// unfixed is the fault: Householder QR without the sign fix.
func unfixed(d int, rng *rand.Rand) dense.Matrix[float64] {
	a := dense.New[float64](d, d)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	tau, work := make([]float64, d), make([]float64, 64*d)
	lapack64.Geqrf(blas64.General(a), tau, work, len(work))
	lapack64.Orgqr(blas64.General(a), tau, work, len(work))
	return dense.Transpose(dense.Matrix[float64]{}, a)
}

// TestHaar compares up to 35 moments at 4.5 standard errors in each of three
// dimensions: the false-alarm rate is below 1e-3, and the seed is fixed. The
// planted fault must stand out far beyond that.
func TestHaar(t *testing.T) {
	for _, d := range []int{2, 3, 4} {
		const draws = 10000
		src := exprand.NewSource(uint64(d))
		directions := func() dense.Matrix[float64] {
			p := must.Have(orf.Draw[float64](orf.GramSchmidt{}, d, d, src))
			w := p.Frequencies()
			for i := range d {
				row := w.Row(i)
				scale := 1 / norm(row)
				for j := range row {
					row[j] *= scale
				}
			}
			return w
		}
		assert.Less(t, haarZ(d, draws, directions), 4.5, "d = %d", d)
		rng := rand.New(src)
		assert.Greater(t, haarZ(d, draws, func() dense.Matrix[float64] { return unfixed(d, rng) }), 20.0,
			"d = %d: QR without the sign fix is caught", d)
	}
}
