package clusters

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// sorted are keys and values in the order of their clusters, and in a cluster in their own order.
type sorted[T dense.Float] struct {
	centres dense.Matrix[T]
	starts  []int   // where the keys of a cluster begin
	labels  []int32 // the clusters of keys
	order   []int32 // the keys by cluster
	finite  []bool  // whether the values of a cluster are

	found  scratch.Buffer[T] // centres
	memory [2]scratch.Buffer[T]
	k, v   dense.Matrix[T] // while they are sorted
}

// find finds the centres of the clusters of keys, unless a has them.
func (s *sorted[T]) find(a *attention[T], k dense.Matrix[T]) { s.centres = findCentres(a, &s.found, k) }

func (s *sorted[T]) clusters() int { return s.centres.Rows }

// keysOf returns the keys of a cluster.
func (s *sorted[T]) keysOf(cluster int) dense.Matrix[T] { return s.rows(0, cluster) }

// valuesOf returns the values of the keys of a cluster.
func (s *sorted[T]) valuesOf(cluster int) dense.Matrix[T] { return s.rows(1, cluster) }

func (s *sorted[T]) rows(i, cluster int) dense.Matrix[T] {
	return s.memory[i].Rows(len(s.labels)).RowRange(s.starts[cluster], s.starts[cluster+1])
}

// orderOf returns the numbers of the keys of a cluster, which ascend.
func (s *sorted[T]) orderOf(cluster int) []int32 {
	return s.order[s.starts[cluster]:s.starts[cluster+1]]
}

// sort sorts keys and values by the nearest of the centres.
func (s *sorted[T]) sort(k, v dense.Matrix[T]) {
	c := s.clusters()
	s.labels, s.order = scratch.Resize(s.labels, k.Rows), scratch.Resize(s.order, k.Rows)
	nearest(s.labels, k, s.centres)
	s.starts, s.finite = scratch.Resize(s.starts, c+1), scratch.Resize(s.finite, c)
	clear(s.starts)
	for _, l := range s.labels {
		s.starts[l]++
	}
	at := 0
	for l, n := range s.starts {
		s.starts[l] = at
		at += n
	}
	for j, l := range s.labels {
		s.order[s.starts[l]] = int32(j)
		s.starts[l]++
	}
	copy(s.starts[1:], s.starts[:c])
	s.starts[0] = 0
	s.memory[0].Shape(k.Rows, k.Cols)
	s.memory[1].Shape(k.Rows, v.Cols)
	s.k, s.v = k, v
	parallel.Do(c, s)
	s.k, s.v = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// Piece copies the keys and values of a cluster.
func (s *sorted[T]) Piece(l int) {
	keys, values := s.keysOf(l), s.valuesOf(l)
	for i, j := range s.orderOf(l) {
		copy(keys.Row(i), s.k.Row(int(j)))
		copy(values.Row(i), s.v.Row(int(j)))
	}
	s.finite[l] = finiteRows(values)
}

// finiteRows reports whether all elements of m are finite.
func finiteRows[T dense.Float](m dense.Matrix[T]) bool {
	for i := range m.Rows {
		for _, x := range m.Row(i) {
			if x-x != 0 {
				return false
			}
		}
	}
	return true
}

// whole are sorted keys and values with the moments of their clusters.
type whole[T dense.Float] struct {
	sorted[T]
	moments[T]
	codes codes[T]
	coded bool // whether there are codes
	scale float64
}

// build sorts keys and values by the clusters of a, and makes their codes if they are to be coded.
func (w *whole[T]) build(a *attention[T], k, v dense.Matrix[T], coded bool) {
	w.find(a, k)
	w.sort(k, v)
	w.scale = a.scale(k.Cols)
	w.shape(w.clusters(), k.Cols, v.Cols)
	if w.coded = coded; coded {
		w.codes.shape(w.clusters(), k.Cols)
	}
	parallel.Do(w.clusters(), w)
	w.pack()
	w.centres = dense.Matrix[T]{Rows: w.centres.Rows}
}

// Piece computes the moments of a cluster.
func (w *whole[T]) Piece(l int) {
	keys, values := w.keysOf(l), w.valuesOf(l)
	t := pool.Get[tally[T]](&tallies)
	t.begin(keys.Cols, values.Cols)
	for i := range keys.Rows {
		t.add(w.centres.Row(l), keys.Row(i), values.Row(i))
	}
	w.set(l, keys.Rows, w.centres.Row(l), t, w.scale)
	if w.coded {
		w.codes.set(l, keys, values, w.terms.Row(l)[:keys.Cols], w.means.Row(l)[:values.Cols])
	}
	pool.Put(&tallies, t)
}

// tally is the sums over the keys of a cluster.
type tally[T dense.Float] struct {
	keys, values, difference []T
	squares                  float64
	memory                   []T
}

var tallies pool.Pair[tally[float32], tally[float64]]

func (t *tally[T]) begin(d, dv int) {
	t.memory = scratch.Resize(t.memory, 2*d+dv)
	x := t.memory
	clear(x)
	t.keys, t.difference, t.values = x[:d], x[d:2*d], x[2*d:]
	t.squares = 0
}

// add adds a key and its value.
func (t *tally[T]) add(origin, key, value []T) {
	copy(t.difference, key)
	vecmath.AddScaled(t.difference, origin, -1)
	t.squares += 2 * vecmath.HalfSquaredNorm(t.difference)
	vecmath.AddScaled(t.keys, t.difference, 1)
	vecmath.AddScaled(t.values, value, 1)
}
