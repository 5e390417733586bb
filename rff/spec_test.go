package rff_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Every map of Draw prints as its Spec, with the dimensions.
func TestSpecsPrint(t *testing.T) {
	found := 0
	for _, w := range fileMaps[float64](t, 6, 3) {
		in, out := w.m.Dims()
		if text := fmt.Sprint(w.m); strings.HasPrefix(text, w.kind+"(") && strings.HasSuffix(text, fmt.Sprintf("): R^%d → R^%d", in, out)) {
			found++
		} else {
			assert.Contains(t, []string{"Nystroem", "Spectral", "Keys", "Centred", "Compose", "Sum", "Gradients"}, w.kind, text)
		}
	}
	assert.Greater(t, found, 7*16)
}

// Numbers that are given make the map that the same numbers make when they are drawn, and a map
// does not change with the slices of its Spec.
func TestDrawnFields(t *testing.T) {
	densetest.Both(t, testDrawnFields[float32], testDrawnFields[float64])
}

func testDrawnFields[T dense.Float](t *testing.T) {
	const m, d = 6, 3
	w := must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, exprand.NewSource(1)))
	x := points[T](1, 9, d, 0.5)
	rng := exprand.NewSource(2)
	gains := make([]float64, m)
	for i := range gains {
		gains[i] = math.Sqrt(1/distuv.ChiSquared{K: 1, Src: rng}.Rand()) / 2
	}
	given := must.Have(rff.Draw(rff.Matern{Nu: 0.5, LengthScale: 2, Gains: gains}, w))
	drawn := must.Have(rff.Draw(rff.Matern{Nu: 0.5, LengthScale: 2, Src: exprand.NewSource(2)}, w))
	assert.Equal(t, fileBytes(t, given), fileBytes(t, drawn))

	y := points[T](2, 7, d, 0.25)
	sharp, mixed, damped := must.Have(rff.FitSADERF(x, y, 1)), must.Have(rff.FitADERF(x, y, 1)), must.Have(rff.FitSDERF(x, y, 1))
	affine := narrowing[T](d)
	scale := must.Have(rff.Standardise(x))
	for _, c := range []struct {
		s       rff.Spec
		w       orf.Projection[T]
		numbers []float64
	}{
		{rff.Matern{Nu: 0.5, LengthScale: 1, Gains: gains}, w, gains},
		{sharp, w, sharp.Psi}, {mixed, w, mixed.Query.Data}, {damped, w, damped.Damping}, {damped, w, damped.Basis.Data},
		{affine, nil, affine.A.Data}, {affine, nil, affine.Centre}, {scale, nil, scale.Factors},
	} {
		f := must.Have(rff.Draw(c.s, c.w))
		before := fileBytes(t, f)
		features := f.Transform(dense.Matrix[T]{}, x)
		for i := range c.numbers {
			c.numbers[i] += 0.125
		}
		assert.Equal(t, features, f.Transform(dense.Matrix[T]{}, x), "%v", c.s)
		assert.Equal(t, before, fileBytes(t, f), "%v", c.s)
		for i := range c.numbers {
			c.numbers[i] -= 0.125
		}
	}
}

// fileBytes returns the file of m.
func fileBytes[T dense.Float](t *testing.T, m rff.Map[T]) string {
	t.Helper()
	var file strings.Builder
	require.NoError(t, rff.Write(&file, m))
	return file.String()
}
