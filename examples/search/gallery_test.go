package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// embeddings are the recalls at 10 and the bytes per vector of searches of 6000 passages of
// documentation, as embedded by all-MiniLM-L6-v2 (d = 384), for 250 other passages. docs/search.md
// has the times. Peers are those of PyPI, with index_factory(d, name, METRIC_INNER_PRODUCT) and
// Index(ndim=d, metric="ip", dtype="i8"), and of the Go proxy, with the bytes of the heap:
//
//	pip install faiss-cpu==1.15.0 usearch==2.26.6
//	go get github.com/philippgille/chromem-go@v0.7.0 github.com/coder/hnsw@v0.6.1
var embeddings = []charts.Series{
	{Name: "codes", Points: points(56, 0.822, 88, 0.887, 112, 0.908, 160, 0.953, 208, 0.972, 400, 0.998)},
	{Name: "codes and rows", Points: points(56, 1, 88, 1, 112, 1, 160, 1, 208, 1, 400, 1)},
	{Name: "quantise.New", Points: points(56, 0.710, 108, 0.839, 204, 0.951, 396, 0.997)},
	{Name: "FAISS RaBitQ", Points: points(56, 0.730, 116, 0.864, 212, 0.956, 404, 0.994)},
	{Name: "FAISS PQ fast-scan", Points: points(48, 0.701, 96, 0.837)},
	{Name: "FAISS SQ4, SQ8", Points: points(192, 0.926, 384, 0.995)},
	{Name: "FAISS HNSW32", Points: points(1808, 0.945, 1808, 0.994)},
	{Name: "usearch i8, all rows", Points: points(384, 0.953)},
	{Name: "usearch i8, graph", Points: points(533, 0.883, 533, 0.946)},
	{Name: "chromem-go", Points: points(2068, 1)},
	{Name: "coder/hnsw", Points: points(8211, 0.625, 8211, 0.809, 8211, 0.910)},
}

// points returns points from pairs of coordinates.
func points(pairs ...float64) (all []charts.Point) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, charts.Point{X: pairs[i], Y: pairs[i+1]})
	}
	return all
}

// TestGallery measures what the program measures without flags, and shows embeddings beside it.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s := settings{seed: 1, rows: 10_000, dim: 128, queries: 100, k: 10}
	x, q, err := s.vectors()
	require.NoError(t, err)
	f, err := newComparison(s, x, q).compare(io.Discard)
	require.NoError(t, err)
	f.Panels[0].Title = f.Title
	f.Title, f.YRange = "", [2]float64{0.4, 1.02}
	f.Panels = append(f.Panels, charts.Panel{Title: "6000 embeddings, d = 384", Series: embeddings})
	p := gallery.Of("search", f)
	p.Absolute = 0.005 // rounding may swap equally near rows, 5 of the 1000 that are found
	gallery.Check(t, p)
}
