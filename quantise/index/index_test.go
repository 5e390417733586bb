package index_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
)

const d = 16

// never is a probability of a miss that does not happen in a test.
const never = 1e-30

// model is what an index holds, kept in a map. Ids are named by small numbers.
type model[K index.ID, T dense.Float] struct {
	x     index.Index[K, T]
	o     index.Options[T]
	id    func(i int) K
	rows  map[K][]T
	added map[K]int // in the order of additions
	count int
	rng   *rand.Rand
	mean  float64 // of all coordinates
}

func newModel[K index.ID, T dense.Float](t *testing.T, o index.Options[T], id func(i int) K) *model[K, T] {
	m := &model[K, T]{o: o, id: id, rows: map[K][]T{}, added: map[K]int{}, rng: rand.New(rand.NewPCG(1, 2))}
	m.x = must.Have(index.New[K](d, o, m.rng))
	return m
}

// row draws a row with a decaying spectrum and a mean.
func (m *model[K, T]) row() []T {
	v := make([]T, d)
	for j := range v {
		v[j] = T(m.mean + (m.rng.NormFloat64()+0.5)/float64(1+j))
	}
	return v
}

// draw draws distinct ids, and a row for each.
func (m *model[K, T]) draw(n, of int) (ids []K, rows dense.Matrix[T]) {
	rows = dense.New[T](n, d)
	for i, k := range m.rng.Perm(of)[:n] {
		ids = append(ids, m.id(k))
		copy(rows.Row(i), m.row())
	}
	return ids, rows
}

// keep takes rows of the index into the map.
func (m *model[K, T]) keep(ids []K, rows dense.Matrix[T]) {
	for i, id := range ids {
		m.rows[id], m.added[id] = slices.Clone(rows.Row(i)), m.count
		m.count++
	}
}

// sorted returns the rows of the map, best first.
func (m *model[K, T]) sorted(query []T, accept func(id K) bool) (hits []index.Hit[K]) {
	for id, row := range m.rows {
		if accept != nil && !accept(id) {
			continue
		}
		value := truth(m.o.Measure, row, query)
		hits = append(hits, index.Hit[K]{ID: id, Estimate: quantise.Estimate{Value: value, Low: value, High: value}})
	}
	slices.SortFunc(hits, func(a, b index.Hit[K]) int {
		switch {
		case math.Abs(a.Value-b.Value) < 1e-12: // equal rows
			return m.added[a.ID] - m.added[b.ID]
		case (a.Value > b.Value) == (m.o.Measure != quantise.SquaredDistance):
			return -1
		}
		return 1
	})
	return hits
}

// options returns options with the exact rows of an index that has none.
func (m *model[K, T]) options() *index.SearchOptions[K, T] {
	o := &index.SearchOptions[K, T]{Miss: never}
	if !m.o.KeepRows {
		o.Rows = func(dst dense.Matrix[T], ids []K) error {
			for i, id := range ids {
				copy(dst.Row(i), m.rows[id])
			}
			return nil
		}
	}
	return o
}

func equalHits[K index.ID](t *testing.T, want, got []index.Hit[K], what string) {
	t.Helper()
	require.Equal(t, len(want), len(got), what)
	for i, hit := range got {
		require.Equal(t, want[i].ID, hit.ID, "%s, place %d", what, i)
		require.InDelta(t, want[i].Value, hit.Value, 1e-12, what)
		require.Equal(t, quantise.Estimate{Value: hit.Value, Low: hit.Value, High: hit.Value}, hit.Estimate, what)
	}
}

// operate does a random operation with the index and the map.
func (m *model[K, T]) operate(t *testing.T, step int) {
	ctx := t.Context()
	const of = 300 // ids
	switch kind := m.rng.IntN(20); {
	case kind < 3: // ids that are new, or an error
		ids, rows := m.draw(1+m.rng.IntN(9), of)
		err := m.x.Add(ctx, ids, rows)
		if i := slices.IndexFunc(ids, func(id K) bool { return m.rows[id] != nil }); i >= 0 {
			require.EqualError(t, err, fmt.Sprintf("index: id %#v is in the index", ids[i]))
			return
		}
		require.NoError(t, err)
		m.keep(ids, rows)
	case kind < 7:
		ids, rows := m.draw(1+m.rng.IntN(9), of)
		if other := m.rows[ids[0]]; other != nil && kind == 3 && len(ids) > 1 { // equal rows
			copy(rows.Row(1), rows.Row(0))
		}
		require.NoError(t, m.x.Put(ctx, ids, rows))
		m.keep(ids, rows)
	case kind < 10:
		most := 10
		if m.rng.IntN(50) == 0 {
			most = of + 1 // nearly all rows
		}
		ids, _ := m.draw(m.rng.IntN(most), of)
		before := len(m.rows)
		for _, id := range ids {
			delete(m.rows, id)
		}
		require.Equal(t, before-len(m.rows), m.x.Delete(append(ids, ids...)...))
	case kind == 10 && step%5 == 0:
		require.NoError(t, m.x.Compact(ctx))
		require.Equal(t, len(m.rows), index.Held(m.x))
	case kind == 11 && step%5 == 0:
		var file bytes.Buffer
		require.NoError(t, m.x.Write(&file))
		m.x = must.Have(index.Read[K, T](&file))
	case kind < 16:
		query, o := m.row(), m.options()
		if kind == 15 {
			o.Accept = func(id K) bool { return m.added[id]%3 == 0 }
		}
		k := m.rng.IntN(12)
		if m.rng.IntN(20) == 0 {
			k = math.MaxInt
		}
		want := m.sorted(query, o.Accept)
		equalHits(t, want[:min(k, len(want))], must.Have(m.x.Search(ctx, query, k, o)), "nearest")
	default:
		query, o := m.row(), m.options()
		if kind == 19 {
			o.Accept = func(id K) bool { return m.added[id]%3 == 0 }
		}
		want := m.sorted(query, o.Accept)
		limit := math.Inf(2*min(int(m.o.Measure), 1) - 1)
		if m.o.Measure == quantise.Cosine {
			limit = -1
		}
		n := m.rng.IntN(len(want) + 1)
		if n+1 < len(want) && math.Abs(want[n].Value-want[n+1].Value) > 1e-9 {
			limit, want = (want[n].Value+want[n+1].Value)/2, want[:n+1]
		}
		equalHits(t, want, must.Have(m.x.Within(ctx, query, limit, o)), "within")
	}
	require.Equal(t, len(m.rows), m.x.Len())
	require.LessOrEqual(t, index.Held(m.x), 2*len(m.rows))
	id := m.id(m.rng.IntN(of))
	require.Equal(t, m.rows[id] != nil, m.x.Contains(id))
}

type name string

// Random operations on an index leave what they leave in a map, and searches with rows find what
// the map has.
func TestOperations(t *testing.T) {
	const steps = 10_000
	number := func(i int) int64 { return math.MaxInt64/300*int64(i) - 7 }
	text := func(i int) name { return name(fmt.Sprintf("\x00\xff%c%d", rune(i), i/7)) }
	for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
		t.Run(fmt.Sprint("numbers and kept rows by ", by), func(t *testing.T) {
			m := newModel(t, index.Options[float32]{Measure: by, Bits: 2.5, KeepRows: true}, number)
			for i := range steps / 3 {
				m.operate(t, i)
			}
		})
		t.Run(fmt.Sprint("texts and rows of the caller by ", by), func(t *testing.T) {
			m := newModel(t, index.Options[float64]{Measure: by, Bits: 1}, text)
			for i := range steps / 3 {
				m.operate(t, i)
			}
		})
	}
	t.Run("quantiser", func(t *testing.T) {
		q := must.Have(quantise.New[float32](d, quantise.Options{Bits: 1}, rand.NewPCG(1, 2)))
		q = must.Have(q.WithCentres(densetest.Normal[float32](rand.New(rand.NewPCG(1, 2)), 3, d, 0.5, 1)))
		m := newModel(t, index.Options[float32]{Measure: quantise.Cosine, Quantiser: q}, number)
		for i := range steps / 10 {
			m.operate(t, i)
		}
	})
}

// Searches beside a writer see all rows of a call or none.
//
//ci:race
func TestReadersBesideWriter(t *testing.T) {
	const n, writes = 70, 150
	x := must.Have(index.New[int64](d, index.Options[float32]{KeepRows: true, Bits: 2}, rand.NewPCG(1, 2)))
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	rows, unit := dense.New[float32](n, d), make([]float32, d)
	unit[0] = 1
	put := func(version int) {
		rng := rand.New(rand.NewPCG(3, uint64(version)))
		for i := range n {
			for j := range d {
				rows.Set(i, j, float32(rng.NormFloat64()))
			}
			rows.Set(i, 0, float32(version))
		}
		require.NoError(t, x.Put(t.Context(), ids, rows))
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	check := func(hits []index.Hit[int64], err error) {
		if ctx.Err() != nil {
			return
		}
		assert.NoError(t, err)
		assert.Contains(t, []int{0, n}, len(hits))
		for _, hit := range hits {
			assert.Equal(t, hits[0].Value, hit.Value)
		}
	}
	for _, read := range []func(){
		func() { check(x.Search(ctx, unit, n, &index.SearchOptions[int64, float32]{Miss: never})) },
		func() {
			check(x.Within(ctx, unit, math.Inf(-1), &index.SearchOptions[int64, float32]{Accept: func(id int64) bool {
				return x.Contains(id) || true // now, which may be after a deletion
			}}))
		},
		func() {
			var file bytes.Buffer
			assert.NoError(t, x.Write(&file))
			check(must.Have(index.Read[int64, float32](&file)).Search(ctx, unit, n, &index.SearchOptions[int64, float32]{Miss: never}))
		},
	} {
		readers.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				read()
				assert.Contains(t, []int{0, n}, x.Len())
			}
		})
	}
	for version := range writes {
		put(version) // learns, appends and compacts
		switch version % 20 {
		case 0:
			require.NoError(t, x.Compact(t.Context()))
		case 1, 7:
			require.Equal(t, n, x.Delete(ids...))
		}
	}
	stop()
	readers.Wait()
}

// changing is a context that changes an index when a search looks at the context again.
type changing struct {
	context.Context
	looks  atomic.Int32
	change func()
}

func (c *changing) Err() error {
	if c.looks.Add(1) == 2 {
		c.change()
	}
	return c.Context.Err()
}

// A call whose context ends before the rows of the call have codes leaves what the call has learnt.
func TestLearningIsKept(t *testing.T) {
	m := newModel(t, index.Options[float64]{Bits: 2}, func(i int) int64 { return int64(i) })
	ids, rows := m.draw(5*d, 5*d)
	require.NoError(t, m.x.Add(t.Context(), ids[:3*d], rows.RowRange(0, 3*d)))
	before := index.Quantiser(m.x)
	require.ErrorContains(t, m.x.Add(t.Context(), ids[d:], rows.RowRange(d, 5*d)), "is in the index")
	require.Same(t, before, index.Quantiser(m.x))
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, m.x.Put(&changing{Context: ctx, change: cancel}, ids[2*d:], rows.RowRange(2*d, 5*d)), context.Canceled)
	learnt := index.Quantiser(m.x)
	require.NotSame(t, before, learnt)
	require.Equal(t, 3*d, m.x.Len())
	require.NoError(t, m.x.Put(t.Context(), ids[2*d:], rows.RowRange(2*d, 5*d)))
	require.Same(t, learnt, index.Quantiser(m.x))
	m.keep(ids, rows)
	query := m.row()
	equalHits(t, m.sorted(query, nil), must.Have(m.x.Search(t.Context(), query, 5*d, m.options())), "all rows")
}

// A search finds the rows that the index had when the search began, none at first.
func TestSnapshot(t *testing.T) {
	m := newModel(t, index.Options[float32]{KeepRows: true}, func(i int) int64 { return int64(i) })
	for step := range 6 {
		for _, search := range []func(c context.Context, query []float32) ([]index.Hit[int64], error){
			func(c context.Context, query []float32) ([]index.Hit[int64], error) {
				return m.x.Within(c, query, math.Inf(-1), m.options())
			},
			func(c context.Context, query []float32) ([]index.Hit[int64], error) {
				return m.x.Search(c, query, 99, m.options())
			},
		} {
			query := m.row()
			want := m.sorted(query, nil)
			got := must.Have(search(&changing{Context: t.Context(), change: func() {
				ids, rows := m.draw(30, 30)
				if step == 3 {
					assert.Equal(t, 30, m.x.Delete(ids...))
					clear(m.rows)
					return
				}
				assert.NoError(t, m.x.Put(t.Context(), ids, rows))
				m.keep(ids, rows)
			}}, query))
			equalHits(t, want, got, fmt.Sprint("step ", step))
			if step == 3 {
				break
			}
		}
	}
}
