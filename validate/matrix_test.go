package validate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate"
)

func testSymmetric[T dense.Float](t *testing.T) {
	a := dense.Of(3, 3, []T{1, 2, 3, 2, 5, 6, 3, 6, 9})
	got := must.Have(validate.CheckSymmetric(a))
	assert.True(t, got.OK())
	assert.Equal(t, "symmetric", got.String())

	a.Set(0, 1, 2.5)
	a.Set(2, 1, 7)
	got = must.Have(validate.CheckSymmetric(a))
	assert.Equal(t, validate.Asymmetry{I: 1, J: 2, Upper: 6, Lower: 7, Difference: 1}, got)
	assert.False(t, got.OK())
	assert.Equal(t, "not symmetric: element (1, 2) is 6 but (2, 1) is 7, a difference of 1", got.String())

	_, err := validate.CheckSymmetric(dense.New[T](2, 3))
	assert.EqualError(t, err, "validate: a is 2×3, want a square matrix")
	a.Set(2, 0, T(math.NaN()))
	_, err = validate.CheckSymmetric(a)
	assert.EqualError(t, err, "validate: element (2, 0) of a is NaN, want a finite number")
}

func TestSymmetric(t *testing.T) { densetest.Both(t, testSymmetric[float32], testSymmetric[float64]) }

func testDefiniteness[T dense.Float](t *testing.T) {
	for _, c := range []struct {
		name    string
		a       []T
		verdict validate.Verdict
		values  []float64
		rank    int
	}{
		{"identity", []T{1, 0, 0, 1}, validate.PositiveDefinite, []float64{1, 1}, 2},
		{"ones", []T{1, 1, 1, 1}, validate.PositiveSemidefinite, []float64{0, 2}, 1},
		{"zero", []T{0, 0, 0, 0}, validate.PositiveSemidefinite, []float64{0, 0}, 0},
		{"swap", []T{0, 1, 1, 0}, validate.Indefinite, []float64{-1, 1}, 2},
		{"negative", []T{-3, 0, 0, -2}, validate.Indefinite, []float64{-3, -2}, 2},
		{"three", []T{2, -1, 0, -1, 2, -1, 0, -1, 2}, validate.PositiveDefinite, []float64{2 - math.Sqrt2, 2, 2 + math.Sqrt2}, 3},
	} {
		n := len(c.values)
		s, err := validate.Definiteness(dense.Of(n, n, c.a))
		require.NoError(t, err, c.name)
		largest := math.Max(math.Abs(c.values[0]), math.Abs(c.values[n-1]))
		assert.Equal(t, c.verdict, s.Verdict, c.name)
		assert.Equal(t, c.rank, s.Rank, c.name)
		assert.InDeltaSlice(t, c.values, s.Eigenvalues, 8*0x1p-52*largest, c.name)
		assert.InDelta(t, float64(n)*epsilonOf[T]()*largest, s.Tolerance, 1e-14*s.Tolerance, c.name)
		if c.verdict != validate.Indefinite {
			assert.Nil(t, s.Witness, c.name)
			assert.Zero(t, s.QuadraticForm, c.name)
			continue
		}
		require.Len(t, s.Witness, n, c.name)
		var form, length float64
		for i, v := range s.Witness {
			length += v * v
			for j, w := range s.Witness {
				form += v * float64(c.a[i*n+j]) * w
			}
		}
		assert.InDelta(t, 1, length, 1e-14, c.name)
		assert.InDelta(t, form, s.QuadraticForm, 1e-14, c.name)
		assert.InDelta(t, c.values[0], form, 1e-14, c.name)
	}
}

func TestDefiniteness(t *testing.T) {
	densetest.Both(t, testDefiniteness[float32], testDefiniteness[float64])
}

// testTolerance: an eigenvalue slightly beyond ±n·ε·λ_max counts as nonzero, and an eigenvalue
// slightly within counts as zero.
func testTolerance[T dense.Float](t *testing.T) {
	eps := epsilonOf[T]()
	for _, c := range []struct {
		least   float64
		verdict validate.Verdict
	}{
		{2.5 * eps, validate.PositiveDefinite}, {1.5 * eps, validate.PositiveSemidefinite},
		{-1.5 * eps, validate.PositiveSemidefinite}, {-2.5 * eps, validate.Indefinite},
	} {
		s := must.Have(validate.Definiteness(dense.Of(2, 2, []T{1, 0, 0, T(c.least)})))
		assert.Equal(t, c.verdict, s.Verdict, "%v ε", c.least/eps)
	}
	// Random matrices of rank 5 are semi-definite in spite of rounding.
	for seed := range uint64(20) {
		x := densetest.Gapped[T](seed, 30, 5)
		s := must.Have(validate.Definiteness(kernels.Gram(dense.Matrix[T]{}, kernels.DotProduct{}, x, dense.Matrix[T]{})))
		assert.Equal(t, validate.PositiveSemidefinite, s.Verdict, "seed %d: %v", seed, s)
		assert.Equal(t, 5, s.Rank, "seed %d", seed)
	}
}

func TestDefinitenessTolerance(t *testing.T) {
	densetest.Both(t, testTolerance[float32], testTolerance[float64])
}

func TestDefinitenessErrors(t *testing.T) {
	_, err := validate.Definiteness(dense.New[float32](0, 0))
	assert.EqualError(t, err, "validate: a is 0×0, want at least 1×1")
	_, err = validate.Definiteness(dense.New[float32](1, 2))
	assert.EqualError(t, err, "validate: a is 1×2, want a square matrix")
	_, err = validate.Definiteness(dense.Of(1, 1, []float64{math.Inf(-1)}))
	assert.EqualError(t, err, "validate: element (0, 0) of a is -Inf, want a finite number")
	_, err = validate.Definiteness(dense.Of(2, 2, []float64{1, 0.5, 0.25, 1}))
	assert.EqualError(t, err, "validate: a is not symmetric: element (0, 1) is 0.5 but (1, 0) is 0.25, a difference of 0.25")
	_, err = validate.Definiteness(dense.Of(2, 2, []float64{1, 0.5, 0.5 + 0x1p-52, 1}))
	assert.NoError(t, err, "asymmetry of rounding")
	huge := math.MaxFloat64
	_, err = validate.Definiteness(dense.Of(2, 2, []float64{huge, huge, huge, huge}))
	assert.EqualError(t, err, "validate: the eigenvalues of the 2×2 matrix overflow")
}

func TestVerdictString(t *testing.T) {
	s := must.Have(validate.Definiteness(dense.Of(2, 2, []float64{0, 1, 1, 0})))
	assert.Equal(t, "indefinite: eigenvalues from -1 to 1, rank 2 of 2 (tolerance 4.44e-16); witness v with vᵀAv = -1", s.String())
	assert.Equal(t, "positive definite", validate.PositiveDefinite.String())
	assert.Equal(t, "positive semi-definite", validate.PositiveSemidefinite.String())
	assert.Equal(t, "Verdict(0)", validate.Verdict(0).String())
	assert.Equal(t, "no eigenvalues", validate.Spectrum{}.String())
}

func testOrthogonal[T dense.Float](t *testing.T) {
	w := dense.Of(3, 3, []T{1, 2, 2, -2, -1, 2, 0, 3, 4})
	got := must.Have(validate.CheckOrthogonal(w))
	// Rows 0 and 2: (6 + 8)/(3·5); rows 1 and 2: (−3 + 8)/(3·5); rows 0 and 1: 0.
	assert.Equal(t, [2]int{0, 2}, [2]int{got.I, got.J})
	assert.InDelta(t, 14.0/15, got.Cos, 8*0x1p-52)
	assert.Equal(t, "largest |cos| 0.933, between rows 0 and 2", got.String())

	got = must.Have(validate.CheckOrthogonal(w.RowRange(0, 2)))
	assert.InDelta(t, 0, got.Cos, 8*0x1p-52)
	assert.Equal(t, [2]int{0, 1}, [2]int{got.I, got.J})

	got = must.Have(validate.CheckOrthogonal(w.RowRange(0, 1)))
	assert.Equal(t, validate.Angle{}, got)
	assert.Equal(t, "fewer than two rows", got.String())

	// One pair of 200 rows, in different blocks of the computation, is not orthogonal.
	many := dense.New[T](200, 200)
	for i := range 200 {
		many.Set(i, i, T(i+1))
	}
	got = must.Have(validate.CheckOrthogonal(many))
	assert.Zero(t, got.Cos)
	many.Set(150, 70, -151)
	got = must.Have(validate.CheckOrthogonal(many))
	assert.Equal(t, [2]int{70, 150}, [2]int{got.I, got.J})
	assert.InDelta(t, math.Sqrt(0.5), got.Cos, 8*0x1p-52)

	w.Set(1, 1, T(math.Inf(1)))
	_, err := validate.CheckOrthogonal(w)
	assert.EqualError(t, err, "validate: element (1, 1) of w is +Inf, want a finite number")
	_, err = validate.CheckOrthogonal(dense.Of(2, 2, []T{1, 1, 0, 0}))
	assert.EqualError(t, err, "validate: row 1 of w is zero, want a direction")
}

func TestOrthogonal(t *testing.T) {
	densetest.Both(t, testOrthogonal[float32], testOrthogonal[float64])
}
