package multipole

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
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

// build sorts keys and values by the nearest of the centres.
func (s *sorted[T]) build(centres, k, v dense.Matrix[T], scale float64) {
	c := centres.Rows
	s.centres, s.scale = centres, scale
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
	var t tally[T]
	t.begin(keys.Cols, values.Cols)
	for i := range keys.Rows {
		t.add(s.centres.Row(l), keys.Row(i), values.Row(i))
	}
	s.set(l, keys.Rows, s.centres.Row(l), t.keys, t.squares, t.values, s.scale)
	if keys.Rows > 0 {
		matmul.Pack(&s.values[l], values)
	}
}

// tally is the sums over the keys of a cluster.
type tally[T dense.Float] struct {
	keys, values, difference []T
	squares                  float64
}

func (t *tally[T]) begin(d, dv int) {
	x := make([]T, 2*d+dv)
	t.keys, t.difference, t.values = x[:d], x[d:2*d], x[2*d:]
}

// add adds a key and its value.
func (t *tally[T]) add(origin, key, value []T) {
	copy(t.difference, key)
	vecmath.AddScaled(t.difference, origin, -1)
	t.squares += 2 * vecmath.HalfSquaredNorm(t.difference)
	vecmath.AddScaled(t.keys, t.difference, 1)
	vecmath.AddScaled(t.values, value, 1)
}

// find returns the centres of the clusters of keys.
func (a *Attention[T]) find(k dense.Matrix[T]) dense.Matrix[T] {
	if a.centres.Rows > 0 {
		return a.centres
	}
	c := a.clustersFor(k.Rows)
	rng := rand.New(rand.NewPCG(a.seed[0], a.seed[1]))
	size := k.Rows
	if a.opts.Sample < size/c {
		size = c * a.opts.Sample
	}
	sample := dense.New[T](size, k.Cols)
	for i, j := range rng.Perm(k.Rows)[:sample.Rows] {
		copy(sample.Row(i), k.Row(j))
	}
	centres := sample.RowRange(0, c).Clone()
	labels, counts := make([]int32, sample.Rows), make([]int, c)
	sums := dense.New[T](c, k.Cols)
	for range a.opts.Rounds {
		nearest(labels, sample, centres)
		clear(counts)
		clear(sums.Data)
		for i, l := range labels {
			counts[l]++
			vecmath.AddScaled(sums.Row(int(l)), sample.Row(i), 1)
		}
		for l, n := range counts {
			if n > 0 {
				vecmath.Affine(centres.Row(l), sums.Row(l), 1/T(n), 0)
			}
		}
	}
	return centres
}
