package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// TestGalleryOfBytes draws, for queries after 2048 to 4096 tokens of the heads of SmolLM2, the
// error against the bytes that a query reads of a head of keys.
func TestGalleryOfBytes(t *testing.T) {
	gallery.Begin(t)
	const n, sinks = 4096, 4
	// The bytes of a token in 32 bits, of its signs and its share of means, and of its share of the
	// least and largest coordinates of a page. Between 64 and 96 of the last tokens are not in
	// codes.
	const element, coarse, page, last = 512., 14.125, 32., 80
	figure := charts.Figure{
		Title: "Errors of states and of Quest's pages; points of a line: keys 64 to 1024, window 128 to 2048", XLabel: "kB that a query reads", YLabel: "relative error of the output",
		LogX: true, LogY: true,
	}
	bytes := map[int]float64{0: element, 8: 140.125, 4: 76.125, 3: 60.125}
	for i, h := range smollm2(t, n) {
		var want dense.Matrix[float32]
		panel := charts.Panel{Title: []string{"a book", "Go source"}[i]}
		// A query reads so many bytes of each token before the last, of some tokens, and the last.
		add := func(name string, label any, each, some float64, output func(q int) []float32) {
			got, mean := dense.New[float32](0, h.v.Cols), float64(0.75*n-last)
			for q := n/2 + 31; q < n; q += 32 {
				got = dense.Of(got.Rows+1, got.Cols, append(got.Data, output(q)...))
			}
			if want.Rows == 0 {
				want = got
				return
			}
			if len(panel.Series) == 0 || panel.Series[len(panel.Series)-1].Name != name {
				panel.Series = append(panel.Series, charts.Series{Name: name})
			}
			s := &panel.Series[len(panel.Series)-1]
			s.Points = append(s.Points, charts.Point{X: (each*mean + some + last*element) / 1000, Y: matrices.Distance([]dense.Matrix[float32]{got}, []dense.Matrix[float32]{want})})
			s.Labels = append(s.Labels, fmt.Sprint(label))
		}
		state := func(o performer.ExactOptions) func(q int) []float32 {
			e, err := performer.NewExact[float32](o)
			require.NoError(t, err)
			s, err := e.NewState(h.k.Cols, h.v.Cols)
			require.NoError(t, err)
			return func(q int) []float32 {
				s.Append(h.k.RowRange(s.Len(), q+1), h.v.RowRange(s.Len(), q+1))
				return s.Attend(dense.Matrix[float32]{}, h.q.RowRange(q, q+1)).Data
			}
		}
		add("", "", 0, 0, state(performer.ExactOptions{}))
		for _, bits := range []int{0, 8, 4} {
			for keys := 64; keys <= 1024; keys *= 2 {
				label := any(keys)
				if bits > 0 {
					label = "" // labels of these lines would overlap
				}
				add(fmt.Sprintf("TopK, %d bits", cmp.Or(bits, 32)), label, coarse, float64(keys+sinks)*bytes[bits], state(performer.ExactOptions{TopK: keys, Bits: bits}))
			}
		}
		for keys := 64; keys <= 1024; keys *= 2 {
			add("Quest's pages", keys, page, float64(keys)*element, func(q int) []float32 { return h.pages(q, keys) })
		}
		for window := 128; window <= 2048; window *= 2 {
			add("window and sinks", window, 0, float64(window+sinks-last)*element, state(performer.ExactOptions{Window: window, Sinks: sinks}))
		}
		for _, bits := range []int{3, 4, 8} {
			add("all keys in codes", bits, bytes[bits], 0, state(performer.ExactOptions{Bits: bits}))
		}
		figure.Panels = append(figure.Panels, panel)
	}
	p := gallery.Of("heads", figure)
	p.Relative = 0.05
	gallery.Check(t, p)
}

// pages returns the output of a query over the keys of pages of 16 with the highest bounds of
// scores by least and largest coordinates [Tang et al. 2024, Quest], and of the first and the last
// tokens.
func (h head) pages(q, keys int) []float32 {
	near, query := (q+1-64)/64*64, h.q.Row(q)
	bounds, order := make([]float64, near/16), make([]int, near/16)
	for p := range bounds {
		order[p] = p
		for l, x := range query {
			most := math.Inf(-1)
			for j := 16 * p; j < 16*p+16; j++ {
				most = max(most, float64(x*h.k.Row(j)[l]))
			}
			bounds[p] += most
		}
	}
	bounds[0] = math.Inf(1)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(bounds[b], bounds[a]) })
	var k, v []float32
	for _, p := range order[:keys/16] {
		k, v = append(k, h.k.RowRange(16*p, 16*p+16).Data...), append(v, h.v.RowRange(16*p, 16*p+16).Data...)
	}
	k, v = append(k, h.k.RowRange(near, q+1).Data...), append(v, h.v.RowRange(near, q+1).Data...)
	n, d := len(k)/len(query), len(query)
	e, _ := performer.NewExact[float32](performer.ExactOptions{})
	return e.Forward(dense.Matrix[float32]{}, h.q.RowRange(q, q+1), dense.Of(n, d, k), dense.Of(n, d, v)).Data
}
