package index

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/quantise"
)

const defaultMiss = 0.001

func (x *index[K, T]) prepare(ctx context.Context, query []T, o *SearchOptions[K, T]) (*state[K, T], *quantise.Query, error) {
	if err := argument.Context("index", ctx); err != nil {
		return nil, nil, err
	}
	switch {
	case len(query) != x.d:
		return nil, nil, fmt.Errorf("index: the query has %d numbers, want %d", len(query), x.d)
	case !(o.Miss >= 0 && o.Miss < 1):
		return nil, nil, fmt.Errorf("index: Miss = %v, want a probability below 1, or 0 for %v", o.Miss, defaultMiss)
	}
	if err := checkVector(query); err != nil {
		return nil, nil, fmt.Errorf("index: the query %w", err)
	}
	s := x.now.Load()
	return s, s.codes.Quantiser().Prepare(nil, query, x.measure, cmp.Or(o.Miss, defaultMiss)), nil
}

func (s *state[K, T]) options(o *SearchOptions[K, T]) quantise.SearchOptions[T] {
	q := quantise.SearchOptions[T]{Only: s.live}
	if q.Only == nil { // the set of all rows, also of those that a later state adds to the codes
		q.Only = []uint64{}
	}
	if o.Accept != nil {
		q.Accept = func(at int) bool { return o.Accept(s.ids[at]) }
	}
	if s.hasRows() {
		q.Rows = quantise.RowsOf(s.matrix())
	} else if o.Rows != nil {
		q.Rows = func(dst dense.Matrix[T], places []int) error {
			ids := make([]K, len(places))
			for i, at := range places {
				ids[i] = s.ids[at]
			}
			return o.Rows(dst, ids)
		}
	}
	return q
}

func (x *index[K, T]) Search(ctx context.Context, query []T, k int, o *SearchOptions[K, T]) ([]Hit[K], error) {
	o = cmp.Or(o, new(SearchOptions[K, T]))
	s, q, err := x.prepare(ctx, query, o)
	if err != nil {
		return nil, err
	}
	if k < 0 {
		return nil, fmt.Errorf("index: k = %d, want at least 0", k)
	}
	found := [][]quantise.Hit{make([]quantise.Hit, min(k, s.n))}
	if err := s.codes.SearchAll(ctx, found, []*quantise.Query{q}, s.options(o)); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return s.hits(found[0]), nil
}

func (x *index[K, T]) Within(ctx context.Context, query []T, limit float64, o *SearchOptions[K, T]) ([]Hit[K], error) {
	o = cmp.Or(o, new(SearchOptions[K, T]))
	s, q, err := x.prepare(ctx, query, o)
	if err != nil {
		return nil, err
	}
	found, err := s.codes.Within(ctx, q, limit, s.options(o))
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return s.hits(found), nil
}

func (s *state[K, T]) hits(found []quantise.Hit) []Hit[K] {
	hits := make([]Hit[K], len(found))
	for i, hit := range found {
		hits[i] = Hit[K]{s.ids[hit.ID], hit.Estimate}
	}
	return hits
}
