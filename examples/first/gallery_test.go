package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// TestGallery compares one coordinate of some outputs of the form that the program prints with
// exact attention.
func TestGallery(t *testing.T) {
	src := rand.NewPCG(1, 2)
	q, k, v := tokens(8192, 8, src)
	exact := must(performer.NewExact[float64](performer.ExactOptions{}))
	form, err := blocks.New[float64](blocks.Options{EightBits: true, Threshold: 0.0246})
	require.NoError(t, err)

	truth := exact.Forward(dense.Matrix[float64]{}, q, k, v)
	out := form.Forward(dense.Matrix[float64]{}, q, k, v)
	const most = 6
	series := charts.Series{Name: "blocks of keys", Line: []charts.Point{{X: -most, Y: -most}, {X: most, Y: most}}}
	for i := 0; i < out.Rows; i += out.Rows / 200 {
		series.Points = append(series.Points, charts.Point{X: truth.At(i, 0), Y: out.At(i, 0)})
	}
	f := charts.Figure{
		Title:  "Attention over 8192 tokens, d = 8",
		XLabel: "exact output", YLabel: "output by blocks of keys",
		Panels: []charts.Panel{{Title: "first coordinate of 200 outputs; line: equal", Series: []charts.Series{series}}},
	}
	p := gallery.Of("first", f)
	p.Relative, p.Absolute = 0.05, 0.05 // rounding may tip the choice of a block
	gallery.Check(t, p)
}
