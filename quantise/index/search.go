package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/measure"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/quantise"
)

// defaultMiss is SearchOptions.Miss of 0.
const defaultMiss = 0.001

// prepare returns the present state, and the prepared query.
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

// reader returns a function that writes the rows in some places into dst, or nil if no rows are at
// hand.
func (s *state[K, T]) reader(o *SearchOptions[K, T]) func(dst dense.Matrix[T], places []int) error {
	switch {
	case s.hasRows():
		return quantise.RowsOf(s.matrix())
	case o.Rows == nil:
		return nil
	}
	return func(dst dense.Matrix[T], places []int) error {
		ids := make([]K, len(places))
		for i, at := range places {
			ids[i] = s.ids[at]
		}
		return o.Rows(dst, ids)
	}
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
	options := quantise.SearchOptions[T]{Only: s.live, Rows: s.reader(o)}
	if o.Accept != nil {
		options.Accept = func(at int) bool { return o.Accept(s.ids[at]) }
	}
	if err := s.codes.SearchAll(ctx, found, []*quantise.Query{q}, options); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	hits := make([]Hit[K], len(found[0]))
	for i, hit := range found[0] {
		if hits[i] = (Hit[K]{s.ids[hit.ID], hit.Estimate}); options.Rows != nil {
			hits[i].Low, hits[i].High = hit.Value, hit.Value
		}
	}
	return hits, nil
}

func (x *index[K, T]) Within(ctx context.Context, query []T, limit float64, o *SearchOptions[K, T]) ([]Hit[K], error) {
	o = cmp.Or(o, new(SearchOptions[K, T]))
	s, q, err := x.prepare(ctx, query, o)
	if err != nil {
		return nil, err
	}
	if limit != limit {
		return nil, errors.New("index: limit is NaN")
	}
	w := within[K, T]{ctx: ctx, state: s, query: query, prepared: q, limit: limit, accept: o.Accept, read: s.reader(o), inTurns: !s.hasRows()}
	parallel.Do((len(s.live)+pieceWords-1)/pieceWords, &w)
	if err := cmp.Or(w.err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	slices.SortFunc(w.found, func(a, b quantise.Hit) int {
		if order := cmp.Compare(b.Value, a.Value); order != 0 {
			return order * w.sign()
		}
		return cmp.Compare(a.ID, b.ID)
	})
	hits := make([]Hit[K], len(w.found))
	for i, hit := range w.found {
		hits[i] = Hit[K]{s.ids[hit.ID], hit.Estimate}
	}
	return hits, nil
}

// within is a call of Within. A piece is the rows of pieceWords words of live.
type within[K ID, T dense.Float] struct {
	*state[K, T]
	ctx      context.Context
	query    []T
	prepared *quantise.Query
	limit    float64
	accept   func(id K) bool
	read     func(dst dense.Matrix[T], places []int) error
	inTurns  bool // read is called by one piece at a time

	reading, writing sync.Mutex
	found            []quantise.Hit // with places as ids
	err              error
}

const pieceWords = 16

// sign returns 1 if large values are best, and −1 if small values are.
func (w *within[K, T]) sign() int {
	if w.measure == quantise.SquaredDistance {
		return -1
	}
	return 1
}

// reaches reports whether a value between low and high may reach the limit.
func (w *within[K, T]) reaches(low, high float64) bool {
	if w.measure == quantise.SquaredDistance {
		return low <= w.limit
	}
	return high >= w.limit
}

func (w *within[K, T]) Piece(i int) {
	if w.ctx.Err() != nil {
		return
	}
	var places []int
	for at := i * pieceWords; at < min((i+1)*pieceWords, len(w.live)); at++ {
		for word := w.live[at]; word != 0; word &= word - 1 {
			places = append(places, 64*at+bits.TrailingZeros64(word))
		}
	}
	n := 0
	var some []quantise.Hit
	for k, e := range w.codes.Estimates(make([]quantise.Estimate, len(places)), w.prepared, places) {
		if w.reaches(e.Low, e.High) && (w.accept == nil || w.accept(w.ids[places[k]])) {
			some = append(some, quantise.Hit{ID: places[k], Estimate: e})
			places[n] = places[k]
			n++
		}
	}
	if n == 0 {
		return
	}
	var err error
	if w.read != nil {
		some, err = w.exact(some, places[:n])
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	w.found, w.err = append(w.found, some...), cmp.Or(w.err, err)
}

// exact returns the rows whose exact values reach the limit.
func (w *within[K, T]) exact(some []quantise.Hit, places []int) ([]quantise.Hit, error) {
	rows := dense.New[T](len(places), w.d)
	if w.inTurns {
		w.reading.Lock()
		defer w.reading.Unlock()
	}
	if err := cmp.Or(w.ctx.Err(), w.read(rows, places)); err != nil {
		return nil, err
	}
	n := 0
	for i, hit := range some {
		value := measure.Of(int(w.measure), rows.Row(i), w.query)
		if value-value != 0 {
			return nil, fmt.Errorf("the row of id %#v that Rows wrote holds NaN or ±Inf, or overflows", w.ids[hit.ID])
		}
		if w.reaches(value, value) {
			some[n] = quantise.Hit{ID: hit.ID, Estimate: quantise.Estimate{Value: value, Low: value, High: value}}
			n++
		}
	}
	return some[:n], nil
}
