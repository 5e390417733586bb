package quantise_test

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// search prepares a query and searches codes.
func search[T dense.Float](c quantise.Codes[T], dst []quantise.Hit, query []T, by quantise.Measure) []quantise.Hit {
	return c.Search(dst, c.Quantiser().Prepare(nil, query, by, 0))
}

// estimates prepares a query and returns the values of the estimates of the first rows, all for a nil
// dst.
func estimates[T dense.Float](c quantise.Codes[T], dst []float64, query []T, by quantise.Measure) []float64 {
	if dst == nil {
		dst = make([]float64, c.Len())
	}
	for i, e := range c.Estimates(make([]quantise.Estimate, len(dst)), c.Quantiser().Prepare(nil, query, by, 0), 0) {
		dst[i] = e.Value
	}
	return dst
}

// searchAll prepares queries and searches segments.
func searchAll[T dense.Float](q quantise.Quantiser[T], ctx context.Context, hits [][]quantise.Hit, queries dense.Matrix[T], by quantise.Measure, o quantise.SearchOptions[T], segments ...quantise.Codes[T]) error {
	prepared := make([]*quantise.Query, queries.Rows)
	for i := range prepared {
		prepared[i] = q.Prepare(nil, queries.Row(i), by, 0)
	}
	return q.Search(ctx, hits, prepared, o, segments...)
}
