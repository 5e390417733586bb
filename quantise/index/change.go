package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

func (x *index[K, T]) Add(ctx context.Context, ids []K, rows dense.Matrix[T]) error {
	return x.put(ctx, ids, rows, false)
}

func (x *index[K, T]) Put(ctx context.Context, ids []K, rows dense.Matrix[T]) error {
	return x.put(ctx, ids, rows, true)
}

// An index learns at learnRows·d rows, from which on Learn finds principal directions.
const learnRows = 4

func (x *index[K, T]) put(ctx context.Context, ids []K, rows dense.Matrix[T], replaces bool) error {
	if err := argument.Context("index", ctx); err != nil {
		return err
	}
	rows.Check()
	switch {
	case len(ids) != rows.Rows:
		return fmt.Errorf("index: %d ids for %d rows", len(ids), rows.Rows)
	case len(ids) == 0:
		return nil
	case rows.Cols != x.d:
		return fmt.Errorf("index: rows are %d×%d, want n×%d", rows.Rows, rows.Cols, x.d)
	}
	for i, id := range ids {
		if err := checkVector(rows.Row(i)); err != nil {
			return fmt.Errorf("index: the row of id %#v %w", id, err)
		}
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	added, n := make(map[K]int, len(ids)), x.now.Load().n
	for _, id := range ids {
		if _, twice := added[id]; twice {
			return fmt.Errorf("index: id %#v is twice in ids", id)
		}
		if _, known := x.at[id]; !known {
			n++
		} else if !replaces {
			return fmt.Errorf("index: id %#v is in the index", id)
		}
		added[id] = 0
	}
	if now := x.now.Load(); !now.learnt && n/learnRows >= x.d {
		// without the end of ctx, or every call with a short deadline would learn in vain
		learnt, err := now.learned(context.WithoutCancel(ctx), rows)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		x.publish(learnt, nil, nil)
	}
	next := x.now.Load().next()
	for i, id := range ids {
		if at, known := x.at[id]; known {
			next.remove(at)
		}
		added[id] = len(next.ids) + i
	}
	next.add(ids, rows.Row)
	if err := next.codes.Append(ctx, rows); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.publish(next, added, nil)
	return nil
}

func (x *index[K, T]) Delete(ids ...K) int {
	x.writing.Lock()
	defer x.writing.Unlock()
	next, deleted := x.now.Load().next(), 0
	for _, id := range ids {
		if at, known := x.at[id]; known && next.isLive(at) {
			next.remove(at)
			deleted++
		}
	}
	if deleted > 0 {
		x.publish(next, nil, ids)
	}
	return deleted
}

func (x *index[K, T]) Compact(ctx context.Context) error {
	if err := argument.Context("index", ctx); err != nil {
		return err
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	next, err := x.now.Load(), error(nil)
	if x.keeps && x.bits > 0 && next.n/learnRows >= x.d {
		next, err = next.learned(ctx, dense.New[T](0, x.d))
	} else if next.n < len(next.ids) {
		next, err = next.compacted()
	}
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.publish(next, nil, nil)
	return nil
}

// publish makes a state the present one, after the addition and deletion of ids. It compacts the
// state if most of its rows are deleted.
func (x *index[K, T]) publish(next *state[K, T], added map[K]int, deleted []K) {
	if len(next.ids) > 2*next.n {
		if few, err := next.compacted(); err == nil { // otherwise the deleted rows stay
			next = few
		}
	}
	all := x.at
	if next.codes != x.now.Load().codes { // rows have new places
		all, added, deleted = next.ofIDs(), nil, nil
	}
	x.lock.Lock()
	defer x.lock.Unlock()
	for _, id := range deleted {
		delete(all, id)
	}
	maps.Copy(all, added)
	x.at = all
	x.now.Store(next)
}

func checkVector[T dense.Float](v []T) error {
	square := 0.0
	for _, e := range v {
		square += float64(e) * float64(e)
	}
	switch norm := math.Sqrt(square); {
	case norm-norm != 0:
		return errors.New("holds NaN or ±Inf, or has a norm above 1e150")
	case norm > 0x1p99, norm < 0x1p-99 && slices.ContainsFunc(v, func(e T) bool { return e != 0 }):
		return fmt.Errorf("has the norm %.3g, want 0 or from 2⁻⁹⁹ to 2⁹⁹", norm)
	}
	return nil
}
