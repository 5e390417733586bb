package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// TestGallery compares one coordinate of some outputs of the form that the program prints with
// exact attention.
func TestGallery(t *testing.T) {
	src := rand.NewPCG(1, 2)
	q, k, v := tokens(8192, 8, src)
	exact := must(performer.NewExact[float64](performer.ExactOptions{}))
	form, err := clusters.New[float64](clusters.Options{EightBits: true, Clusters: 128, Threshold: 0.0062}, src)
	require.NoError(t, err)

	some := q.RowRange(0, 200)
	truth := exact.Forward(dense.Matrix[float64]{}, some, k, v)
	out := form.Forward(dense.Matrix[float64]{}, some, k, v)
	const most = 6
	series := charts.Series{Name: "128 clusters", Line: []charts.Point{{X: -most, Y: -most}, {X: most, Y: most}}}
	for i := range some.Rows {
		series.Points = append(series.Points, charts.Point{X: truth.At(i, 0), Y: out.At(i, 0)})
	}
	f := charts.Figure{
		Title:  "Attention over 8192 tokens, d = 8",
		XLabel: "exact output", YLabel: "output by 128 clusters",
		Panels: []charts.Panel{{Title: "first coordinate of 200 outputs; line: equal", Series: []charts.Series{series}}},
	}
	p := gallery.Of("first", f)
	p.Relative, p.Absolute = 0.05, 0.05 // rounding may tip the cluster of a key
	gallery.Check(t, p)
}
