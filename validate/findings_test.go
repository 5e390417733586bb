package validate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate"
)

// TestErrorsAreNotOK: with an error, OK and Unbiased are false and String says that nothing is
// known.
func TestErrorsAreNotOK(t *testing.T) {
	src := exprand.NewSource(1)
	one, zeros := dense.Of(1, 1, []float64{1}), dense.New[float64](2, 2)
	notFinite := dense.Of(2, 2, []float64{1, 2, 2, math.NaN()})
	check := func(name string, ok bool, finding fmt.Stringer, err error) {
		t.Helper()
		require.Error(t, err, name)
		assert.False(t, ok, name)
		assert.NotRegexp(t, "^(symmetric|positive)", finding.String(), name)
	}
	for name, m := range map[string]dense.Matrix[float64]{"not square": one.ColRange(0, 0), "not finite": notFinite} {
		a, err := validate.CheckSymmetric(m)
		check("Symmetric, "+name, a.OK(), a, err)
	}
	for name, c := range map[string]struct {
		k kernels.Kernel
		x dense.Matrix[float64]
	}{
		"nil":                  {nil, one},
		"out of range":         {kernels.Gaussian{LengthScale: -1}, one},
		"on no points":         {kernels.Gaussian{}, dense.New[float64](0, 1)},
		"eigenvalues overflow": {kernels.Scaled{K: kernels.Gaussian{LengthScale: 1e9}, By: math.MaxFloat64}, dense.New[float64](4, 1)},
	} {
		a, err := validate.CheckKernel(c.k, c.x)
		check("Kernel, "+name, a.Verdict != 0, a, err)
	}
	for name, m := range map[string]dense.Matrix[float64]{"zeros": zeros, "not finite": notFinite} {
		a, err := validate.CheckOrthogonal(m)
		check("Orthogonal, "+name, a.Cos < 0.5, a, err)
	}
	d, err := validate.Definiteness(notFinite)
	check("Definiteness", d.Verdict == validate.PositiveDefinite || d.Verdict == validate.PositiveSemidefinite, d, err)
	m, err := validate.Measure[float64](t.Context(), nil, one, one, 10, src)
	check("Measure", m.Unbiased(math.Inf(1)) || m.MSE < math.Inf(1), validate.Comparison{}, err)
	assert.Equal(t, "not known to be symmetric", validate.Asymmetry{Difference: math.NaN()}.String())
	assert.Equal(t, "not known to be orthogonal", validate.Angle{Cos: math.NaN()}.String())

	none := must.Have(validate.CheckSymmetric(dense.New[float64](0, 0)))
	assert.True(t, none.OK(), "nothing is not symmetric in it")
}
