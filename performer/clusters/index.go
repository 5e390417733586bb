package clusters

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// partition holds keys and values in the order of their clusters, and within a cluster in the order
// of the caller.
type partition[T dense.Float] struct {
	centres dense.Matrix[T]
	starts  []int   // the first key of each cluster
	labels  []int32 // the cluster of each key
	order   []int32 // the keys by cluster
	finite  []bool  // whether all values of a cluster are finite

	centreMemory scratch.Buffer[T]
	memory       [2]scratch.Buffer[T]
	k, v         dense.Matrix[T] // the arguments of sort
}

func (s *partition[T]) clusters() int { return s.centres.Rows }

// keysOf returns the keys of a cluster.
func (s *partition[T]) keysOf(cluster int) dense.Matrix[T] { return s.rows(0, cluster) }

// valuesOf returns the values of the keys of a cluster.
func (s *partition[T]) valuesOf(cluster int) dense.Matrix[T] { return s.rows(1, cluster) }

func (s *partition[T]) rows(i, cluster int) dense.Matrix[T] {
	return s.memory[i].Rows(len(s.labels)).RowRange(s.starts[cluster], s.starts[cluster+1])
}

// orderOf returns the numbers of the keys of a cluster in ascending order.
func (s *partition[T]) orderOf(cluster int) []int32 {
	return s.order[s.starts[cluster]:s.starts[cluster+1]]
}

// sort sorts keys and values by the nearest of the centres.
func (s *partition[T]) sort(k, v dense.Matrix[T]) {
	c := s.clusters()
	s.labels, s.order = scratch.Resize(s.labels, k.Rows), scratch.Resize(s.order, k.Rows)
	assign(s.labels, k, s.centres)
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
func (s *partition[T]) Piece(l int) {
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

// index is a partition of all keys with the moments of its clusters, and with codes if coded is
// set.
type index[T dense.Float] struct {
	partition[T]
	moments[T]
	codes codes[T]
	coded bool
	scale float64
}

// build computes the index of the keys and values of a call of a.
func (w *index[T]) build(a *attention[T], k, v dense.Matrix[T]) {
	w.centres = a.findCentres(&w.centreMemory, k)
	w.sort(k, v)
	w.scale = a.scale(k.Cols)
	w.shape(w.clusters(), k.Cols, v.Cols)
	if w.coded = a.options.Bits != 0 && canCode(k.Cols); w.coded {
		w.codes.shape(w.clusters(), k.Cols)
	}
	parallel.Do(w.clusters(), w)
	matmul.Pack(&w.packed, w.means)
}

// Piece computes the moments of a cluster.
func (w *index[T]) Piece(l int) {
	keys, values := w.keysOf(l), w.valuesOf(l)
	t := pool.Get[keySums[T]](&keySumsPool)
	t.begin(keys.Cols, values.Cols)
	for i := range keys.Rows {
		t.add(w.centres.Row(l), keys.Row(i), values.Row(i))
	}
	w.set(l, keys.Rows, w.centres.Row(l), t, w.scale)
	pool.Put(&keySumsPool, t)
	if w.coded {
		w.codes.set(l, keys, values, w.terms.Row(l)[:keys.Cols], w.means.Row(l)[:values.Cols])
	}
}

var keySumsPool pool.Pair[keySums[float32], keySums[float64]]
