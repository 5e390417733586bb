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
	for name, f := range map[string]func() (ok bool, text fmt.Stringer, err error){
		"Symmetric of no square": func() (bool, fmt.Stringer, error) {
			a, err := validate.CheckSymmetric(one.ColRange(0, 0))
			return a.OK(), a, err
		},
		"Symmetric": func() (bool, fmt.Stringer, error) {
			a, err := validate.CheckSymmetric(notFinite)
			return a.OK(), a, err
		},
		"Kernel of nil": func() (bool, fmt.Stringer, error) {
			c, err := validate.CheckKernel(nil, one)
			return c.OK(), c, err
		},
		"Kernel out of range": func() (bool, fmt.Stringer, error) {
			c, err := validate.CheckKernel(kernels.Gaussian{LengthScale: -1}, one)
			return c.OK(), c, err
		},
		"Kernel on no points": func() (bool, fmt.Stringer, error) {
			c, err := validate.CheckKernel(kernels.Gaussian{}, dense.New[float64](0, 1))
			return c.OK(), c, err
		},
		"Kernel whose eigenvalues overflow": func() (bool, fmt.Stringer, error) {
			c, err := validate.CheckKernel(kernels.Scaled{K: kernels.Gaussian{LengthScale: 1e9}, By: math.MaxFloat64}, dense.New[float64](4, 1))
			return c.OK(), c, err
		},
		"Orthogonal": func() (bool, fmt.Stringer, error) {
			a, err := validate.CheckOrthogonal(zeros)
			return a.Cos < 0.5, a, err
		},
		"Orthogonal, not finite": func() (bool, fmt.Stringer, error) {
			a, err := validate.CheckOrthogonal(notFinite)
			return a.Cos < 0.5, a, err
		},
		"Definiteness": func() (bool, fmt.Stringer, error) {
			s, err := validate.Definiteness(notFinite)
			return s.Verdict == validate.PositiveDefinite || s.Verdict == validate.PositiveSemidefinite, s, err
		},
		"Measure, unbiased": func() (bool, fmt.Stringer, error) {
			m, err := validate.Measure[float64](t.Context(), nil, one, one, 10, src)
			return m.Unbiased(math.Inf(1)), validate.Table{}, err
		},
		"Measure, small error": func() (bool, fmt.Stringer, error) {
			m, err := validate.Measure[float64](t.Context(), nil, one, one, 10, src)
			return m.MSE < math.Inf(1), validate.Table{}, err
		},
	} {
		ok, finding, err := f()
		require.Error(t, err, name)
		assert.False(t, ok, name)
		assert.NotRegexp(t, "^(symmetric|a kernel|positive)", finding.String(), name)
	}
	assert.Equal(t, "not known to be symmetric", validate.Asymmetry{Difference: math.NaN()}.String())
	assert.Equal(t, "not known to be a kernel", validate.KernelCheck{}.String())
	assert.Equal(t, "not known to be orthogonal", validate.Angle{Cos: math.NaN()}.String())

	none := must.Have(validate.CheckSymmetric(dense.New[float64](0, 0)))
	assert.True(t, none.OK(), "nothing is not symmetric in it")
}
