package semiseparable

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// TestResidual inverts systems from well to ill-conditioned ones. Where there is no error, no
// element of T·Y − I is beyond the bound by more than chance allows; where there is one, the
// row that it names is off.
func TestResidual(t *testing.T) { densetest.Both(t, testResidual[float32], testResidual[float64]) }

func testResidual[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	inverted := 0
	for _, scale := range []float64{1, 0.3, 0.1, 0.03, 0.01} {
		for _, d := range []int{1, 2, 8, 32} {
			for _, n := range []int{5, 16, 60, 150} {
				m := Matrix[T]{Q: densetest.Normal[T](rng, n, d, 0, 1), K: densetest.Normal[T](rng, n, d, 0, 1), Diag: diagonal[T](rng, n)}
				for i := range m.Diag {
					m.Diag[i] *= T(scale)
				}
				y, err := m.Inverse(dense.Matrix[T]{})
				bound := 8 * float64(n+d+inverseChunk) * vecmath.Roundoff[T]()
				switch e := err.(type) {
				case *OverflowError:
				case *ResidualError:
					assert.Equal(t, bound, e.Bound)
					assert.Greater(t, e.Residual, bound)
					assert.Greater(t, largest(m, y, e.Row)*math.Sqrt(float64(n)), bound, "λ about %g, n = %d, d = %d: %v", scale, n, d, e)
				default:
					require.NoError(t, err)
					inverted++
					for i := range n {
						assert.Less(t, largest(m, y, i), 20*bound, "λ about %g, n = %d, d = %d, row %d", scale, n, d, i)
					}
				}
				processors := runtime.GOMAXPROCS(1)
				_, again := m.Inverse(dense.Matrix[T]{})
				runtime.GOMAXPROCS(processors)
				assert.Equal(t, err, again, "on one processor")
			}
		}
	}
	assert.Greater(t, inverted, 20)
}

// largest returns the largest |T·Y − I| in a row, relative to what residual compares with.
func largest[T dense.Float](m Matrix[T], y dense.Matrix[T], row int) float64 {
	n, d := m.Dims()
	dot := func(a, b []T) (s float64) {
		for l := range d {
			s += float64(a[l]) * float64(b[l])
		}
		return s
	}
	size := 1.0
	product := make([]float64, n)
	for j := range row + 1 {
		c, norm := dot(m.Q.Row(row), m.K.Row(j)), math.Sqrt(dot(m.Q.Row(row), m.Q.Row(row))*dot(m.K.Row(j), m.K.Row(j)))
		if j == row {
			c = float64(m.diag(row))
			norm = math.Abs(c)
		}
		var square float64
		for l, v := range y.Row(j) {
			product[l] += c * float64(v)
			square += float64(v) * float64(v)
		}
		size += norm * math.Sqrt(float64(j+1)*square)
	}
	product[row]--
	worst := 0.0
	for _, v := range product {
		worst = max(worst, math.Abs(v)/size)
	}
	return worst
}

// Growing rows that then cancel are what some of these systems have: an inverse that is off is
// refused, while Solve solves the system.
func TestRefusedInverse(t *testing.T) {
	const n = 200
	refused := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m := Matrix[float64]{Q: densetest.Normal[float64](rng, n, 1, 0, 1), K: densetest.Normal[float64](rng, n, 1, 0, 1), Diag: diagonal[float64](rng, n)}
		for i := range m.Q.Data {
			m.Q.Data[i] *= 1.5
		}
		_, err := m.Inverse(dense.Matrix[float64]{})
		var e *ResidualError
		if !errors.As(err, &e) {
			continue
		}
		refused++
		v := densetest.Normal[float64](rng, n, 3, 0, 1)
		y, err := m.Solve(dense.Matrix[float64]{}, v)
		require.NoError(t, err)
		a, size := truth(m, false)
		assert.LessOrEqual(t, backwardError(a, size, y, v), tolerance[float64](n, 1, m.tuned().chunk), "seed %d", seed)
	}
	assert.Positive(t, refused)
}

// A single wrong element is noticed, in its row or a later one.
func TestPlantedResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const n, d = 300, 20
	m := deltaRule[float64](rng, n, d)
	y, err := m.Inverse(dense.Matrix[float64]{})
	require.NoError(t, err)
	const chunk, chunks = 128, 3
	v := inversion[float64]{Matrix: m, dst: y, chunk: chunk, chunks: chunks}
	v.signs, v.z = make([]float64, n), make([]float64, d)
	sign(v.signs)
	sums := func() {
		v.sums, v.sizes = make([]float64, n*chunks), make([]float64, n*chunks)
		for c := range chunks {
			lo, hi := v.rows(c)
			for j := range c + 1 {
				from, to := v.rows(j)
				v.sum(y.RowRange(lo, hi).ColRange(from, to), c, j)
			}
		}
		v.total()
	}
	sums()
	require.NoError(t, v.residual())
	y.Set(200, 17, y.At(200, 17)+1e-8)
	sums()
	var e *ResidualError
	require.ErrorAs(t, v.residual(), &e)
	assert.Equal(t, 200, e.Row)
	assert.EqualError(t, &ResidualError{Row: 3, Residual: 0.5, Bound: 1e-12}, "semiseparable: row 3 of T·T⁻¹ − I is 0.5 relative to its terms, want at most 1e-12")
}
