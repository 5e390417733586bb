package multipole

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// sorted are keys and values in the order of their clusters.
type sorted[T dense.Float] struct {
	moments[T]
	keys   scratch.Buffer[T]
	values []matmul.Packed[T] // of each cluster
	starts []int              // where the keys of a cluster begin
	labels []int32
	next   []int
	rows   scratch.Buffer[T] // values
	found  scratch.Buffer[T] // centres

	centres dense.Matrix[T]
	scale   float64
}

func (s *sorted[T]) clusters() int { return len(s.counts) }

// keysOf returns the keys of a cluster.
func (s *sorted[T]) keysOf(cluster int) dense.Matrix[T] {
	return s.keys.Rows(s.starts[len(s.starts)-1]).RowRange(s.starts[cluster], s.starts[cluster+1])
}

// valuesOf returns the values of the keys of a cluster.
func (s *sorted[T]) valuesOf(cluster int) dense.Matrix[T] {
	return s.rows.Rows(s.starts[len(s.starts)-1]).RowRange(s.starts[cluster], s.starts[cluster+1])
}

// build sorts keys and values by the nearest of the centres of a.
func (s *sorted[T]) build(a *Attention[T], k, v dense.Matrix[T]) {
	centres := a.find(&s.found, k)
	c := centres.Rows
	s.centres, s.scale = centres, a.scale(k.Cols)
	s.shape(c, k.Cols, v.Cols)
	s.labels = scratch.Resize(s.labels, k.Rows)
	nearest(s.labels, k, centres)
	s.starts = scratch.Resize(s.starts, c+1)
	clear(s.starts)
	for _, l := range s.labels {
		s.starts[l+1]++
	}
	for i := range c {
		s.starts[i+1] += s.starts[i]
	}
	s.next = append(s.next[:0], s.starts[:c]...)
	s.keys.Shape(k.Rows, k.Cols)
	s.rows.Shape(k.Rows, v.Cols)
	keys, values := s.keys.Rows(k.Rows), s.rows.Rows(k.Rows)
	for i, l := range s.labels {
		copy(keys.Row(s.next[l]), k.Row(i))
		copy(values.Row(s.next[l]), v.Row(i))
		s.next[l]++
	}
	for len(s.values) < c {
		s.values = append(s.values, matmul.Packed[T]{})
	}
	parallel.Do(c, s)
	s.pack()
	s.centres = dense.Matrix[T]{}
}

// Piece computes what is known of a cluster.
func (s *sorted[T]) Piece(l int) {
	keys, values := s.keysOf(l), s.valuesOf(l)
	t := pool.Get[tally[T]](&tallies)
	t.begin(keys.Cols, values.Cols)
	for i := range keys.Rows {
		t.add(s.centres.Row(l), keys.Row(i), values.Row(i))
	}
	s.set(l, keys.Rows, s.centres.Row(l), t.keys, t.squares, t.values, s.scale)
	pool.Put(&tallies, t)
	if keys.Rows > 0 {
		matmul.Pack(&s.values[l], values)
	}
}

// tally is the sums over the keys of a cluster.
type tally[T dense.Float] struct {
	keys, values, difference []T
	squares                  float64
	memory                   []T
}

var tallies pool.Both[tally[float32], tally[float64]]

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
