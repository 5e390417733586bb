package coded

import (
	"math/rand/v2"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// store is the codes of keys and values. A piece is a tile.
type store[T dense.Float] struct {
	rotation *hadamard.Rotation[T]
	k, v     dense.Matrix[T] // while codes are made
	valid    []bool
	keys     []bytedot.Rows    // by tile: keys×coordinates
	values   []bytedot.Rows    // by tile: columns×keys
	finite   []bool            // whether all keys and values of a tile are
	centres  scratch.Buffer[T] // means of the keys of tiles
	means    scratch.Buffer[T] // means of their values
}

// encode makes codes of keys and values. Those that do not count, unless valid is nil, have codes of
// zeros.
func (s *store[T]) encode(k, v dense.Matrix[T], valid []bool) {
	s.rotation = Rotation[T](k.Cols)
	n := tilesOf(k.Rows)
	for len(s.keys) < n {
		s.keys, s.values = append(s.keys, bytedot.Rows{}), append(s.values, bytedot.Rows{})
	}
	s.finite = scratch.Resize(s.finite, n)
	s.centres.Shape(n, k.Cols)
	s.means.Shape(n, v.Cols)
	s.k, s.v, s.valid = k, v, valid
	parallel.Do(n, s)
	s.k, s.v, s.valid = dense.Matrix[T]{}, dense.Matrix[T]{}, nil
}

// tilesOf returns the number of tiles of n keys.
func tilesOf(n int) int { return (n + tiles.Keys - 1) / tiles.Keys }

// centresOf returns the means of the keys of n tiles.
func (s *store[T]) centresOf(n int) dense.Matrix[T] { return s.centres.Rows(n) }

// Piece makes the codes of a tile.
func (s *store[T]) Piece(t int) {
	lo := t * tiles.Keys
	hi := min(lo+tiles.Keys, s.k.Rows)
	e := pool.Get[encoding[T]](&encodings)
	k, v := s.k.RowRange(lo, hi), s.v.RowRange(lo, hi)
	keys := s.less(&e.keys, k, lo, s.centresOf(t+1).Row(t))
	finite := bytedot.QuantiseRows(&s.keys[t], e.rotate(s.rotation, keys))
	values := s.less(&e.values, v, lo, s.means.Rows(t+1).Row(t))
	s.finite[t] = bytedot.QuantiseTransposed(&s.values[t], values) && finite
	pool.Put(&encodings, e)
}

// less sets mean to that of the rows of x that count, of keys from lo on, and returns x less the mean in
// memory. Rows that do not count are zero.
func (s *store[T]) less(memory *scratch.Buffer[T], x dense.Matrix[T], lo int, mean []T) dense.Matrix[T] {
	clear(mean)
	count := 0
	for j := range x.Rows {
		if s.counts(lo + j) {
			vecmath.AddScaled(mean, x.Row(j), 1)
			count++
		}
	}
	vecmath.Scale(mean, 1/T(max(count, 1)))
	memory.Shape(x.Rows, x.Cols)
	y := memory.Rows(x.Rows)
	for j := range x.Rows {
		if !s.counts(lo + j) {
			clear(y.Row(j))
			continue
		}
		copy(y.Row(j), x.Row(j))
		vecmath.AddScaled(y.Row(j), mean, -1)
	}
	return y
}

// counts reports whether key j counts.
func (s *store[T]) counts(j int) bool { return s.valid == nil || s.valid[j] }

// encoding is the scratch memory of one goroutine that makes codes.
type encoding[T dense.Float] struct {
	keys, values, rotated scratch.Buffer[T]
}

var encodings pool.Both[encoding[float32], encoding[float64]]

// rotate returns the rotations of rows, which are valid until the next call.
func (e *encoding[T]) rotate(r *hadamard.Rotation[T], x dense.Matrix[T]) dense.Matrix[T] {
	_, d := r.Dims()
	e.rotated.Shape(x.Rows, d)
	return r.Apply(e.rotated.Rows(x.Rows), x)
}

// rotations has the rotation of each dimension.
var rotations sync.Map

// rotationKey is the key of a rotation: element types have their own.
type rotationKey[T dense.Float] struct{ d int }

// Rotation returns the rotation of R^d, the same in every call.
func Rotation[T dense.Float](d int) *hadamard.Rotation[T] {
	if r, ok := rotations.Load(rotationKey[T]{d}); ok {
		return r.(*hadamard.Rotation[T])
	}
	r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: 1}, rand.NewPCG(1, uint64(d)))
	if err != nil {
		panic("coded: " + err.Error())
	}
	kept, _ := rotations.LoadOrStore(rotationKey[T]{d}, r)
	return kept.(*hadamard.Rotation[T])
}
