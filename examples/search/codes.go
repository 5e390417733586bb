package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
)

// codesOf prints what codes alone say of inner products, for quantisers that learn from the rows x and
// for those that know only their dimension.
func (s settings) codesOf(stdout io.Writer, x, q dense.Matrix[float32]) error {
	ctx := context.Background()
	// Products of float32 rows with large means err more than codes do.
	var none dense.Matrix[float64]
	products := kernels.Gram(none, kernels.DotProduct{}, dense.Copy(none, q), dense.Copy(none, x))
	t := table.New(1, "quantiser", "bits", "bytes", fmt.Sprintf("recall@%d", s.k), "error", "law")
	for _, bits := range widths {
		learned, err := quantise.Learn(ctx, x, quantise.Options{Bits: bits}, rand.NewPCG(s.seed, 3))
		if err != nil {
			return err
		}
		if err := s.row(t, "Learn", learned, x, q, products); err != nil {
			return err
		}
		if bits == 3 {
			continue // New has 1, 2, 4 and 8 bits
		}
		rotated, err := quantise.New[float32](x.Cols, quantise.Options{Bits: bits}, rand.NewPCG(s.seed, 3))
		if err != nil {
			return err
		}
		if err := s.row(t, "New", rotated, x, q, products); err != nil {
			return err
		}
	}
	return t.Fprint(stdout)
}

func (s settings) row(t *table.Listing, name string, by quantise.Quantiser[float32], x, q dense.Matrix[float32], products dense.Matrix[float64]) error {
	codes, err := by.Encode(context.Background(), x)
	if err != nil {
		return err
	}
	var recall, square, law float64
	estimates, hits, ids := make([]quantise.Estimate, x.Rows), make([]quantise.Hit, s.k), make([]int, x.Rows)
	for i := range ids {
		ids[i] = i
	}
	for i := range q.Rows {
		query := by.Prepare(nil, q.Row(i), quantise.InnerProduct, 0)
		found := make(map[int64]bool)
		for _, hit := range codes.Search(hits, query) {
			found[int64(hit.ID)] = true
		}
		for _, id := range best(products.Row(i), s.k) {
			if found[id] {
				recall++
			}
		}
		for j, e := range codes.Estimates(estimates, query, ids) {
			diff := e.Value - products.At(i, j)
			square += diff * diff
			if e.StdErr > 0 {
				law += diff / e.StdErr * diff / e.StdErr
			}
		}
	}
	pairs := float64(q.Rows) * float64(x.Rows)
	t.Row(name, fmt.Sprint(by.Options().Bits), fmt.Sprint(codes.Bytes()/x.Rows), fmt.Sprintf("%.3f", recall/float64(q.Rows*s.k)),
		fmt.Sprintf("%.3g", math.Sqrt(square/pairs)), fmt.Sprintf("%.2f", law/pairs))
	return nil
}
