package coded

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// store holds the codes of keys and values. A piece is a tile.
type store[T dense.Float] struct {
	rotation  *hadamard.Rotation[T]
	dither    []T             // of the codes of queries
	size      int             // keys of a tile
	exact     bool            // there are no codes
	k, v      dense.Matrix[T] // during encode
	valid     []bool
	keys      []bytedot.CodedRows // by tile: keys×coordinates
	values    []bytedot.CodedRows // by tile: columns×keys
	usual     []bool              // of a tile: codes stand for its keys and values
	full      []bool              // of a tile: size keys count
	spoilt    []bool              // of a tile: keys or values may not be finite
	reach     []float32           // of a tile: bound of products of codes, times the scale of a query
	sizes     []float64           // bounds of the values of a tile, NaN or +Inf if unknown
	centres   scratch.Buffer[T]   // means of the keys of tiles
	means     scratch.Buffer[T]   // means of their values
	halves    scratch.Buffer[T]   // ½ less the thresholds of weights
	roundings scratch.Buffer[T]   // of tiles: products of halves and values
}

// encode encodes keys and values in tiles of size keys. Keys and values that do not count, unless
// valid is nil, have codes of zeros.
func (s *store[T]) encode(k, v dense.Matrix[T], valid []bool, size int) {
	s.size = size
	if !s.exact { // keys without coordinates have no rotation
		s.rotation = Rotation[T](k.Cols)
		_, d := s.rotation.Dims()
		s.dither = scratch.Resize(s.dither, d)
		bytedot.Dither(s.dither)
	}
	n := s.tilesOf(k.Rows)
	for len(s.keys) < n {
		s.keys, s.values = append(s.keys, bytedot.CodedRows{}), append(s.values, bytedot.CodedRows{})
	}
	s.usual, s.full, s.spoilt = scratch.Resize(s.usual, n), scratch.Resize(s.full, n), scratch.Resize(s.spoilt, n)
	s.reach, s.sizes = scratch.Resize(s.reach, n), scratch.Resize(s.sizes, n)
	s.centres.Shape(n, k.Cols)
	s.means.Shape(n, v.Cols)
	s.roundings.Shape(n, v.Cols)
	s.halves.Shape(1, tiles.Keys)
	for j := range tiles.Keys {
		s.halves.Data[j] = 0.5 - T(octave.Threshold(j))/(octave.Rows*2)
	}
	s.k, s.v, s.valid = k, v, valid
	parallel.Do(n, s)
	s.k, s.v, s.valid = dense.Matrix[T]{}, dense.Matrix[T]{}, nil
}

func (s *store[T]) tilesOf(n int) int { return (n + s.size - 1) / s.size }

func (s *store[T]) centre(t int) []T { return s.centres.Rows(t + 1).Row(t) }

func (s *store[T]) Piece(t int) {
	lo := t * s.size
	hi := min(lo+s.size, s.k.Rows)
	k, v := s.k.RowRange(lo, hi), s.v.RowRange(lo, hi)
	if s.exact {
		s.usual[t], s.spoilt[t] = false, !s.finite(k, lo) || !s.finite(v, lo)
		return
	}
	e := pool.Get[encoding[T]](&encodings)
	means := s.means.Rows(t + 1).Row(t)
	keys, _ := s.less(e, &e.keys, k, lo, s.centre(t))
	keys = e.rotate(s.rotation, keys)
	values, count := s.less(e, &e.values, v, lo, means)
	e.products.Shape(1, keys.Rows)
	products := e.products.Rows(1)
	matmul.MulT(1, dense.Of(1, keys.Cols, s.dither), keys, 0, products)
	finite := bytedot.QuantiseRows(&s.keys[t], keys, products.Row(0))
	usual := finite && usualKeys(s.keys[t].Scales, keys, count)
	usual = bytedot.QuantiseTransposed(&s.values[t], values) && !lost(s.values[t].Scales, values) && !outlyingValues(s.values[t].Scales, values, count) && usual
	s.compensate(t, means, count)
	matmul.Mul(1, s.halves.Rows(1).ColRange(0, hi-lo), values, 0, s.roundings.Rows(t+1).RowRange(t, t+1))
	s.full[t] = count == s.size
	s.reach[t] = float32(most*most*keys.Cols) * vecmath.Peak(s.keys[t].Scales)
	s.sizes[t] = sizeOf(means, s.values[t].Scales)
	s.usual[t] = usual && s.sizes[t] <= math.MaxFloat32
	s.spoilt[t] = !finite || !(s.sizes[t] <= math.MaxFloat32)
	pool.Put(&encodings, e)
}

// compensate adds the mean of what rounding left over of the values of tile t to their mean, so
// that averages with equal weights have no error.
func (s *store[T]) compensate(t int, means []T, count int) {
	for l, scale := range s.values[t].Scales {
		means[l] -= T(scale) * T(s.values[t].Sum(l)) / T(count)
	}
}

const most = 127

// usualKeys reports whether codes with the given scales stand for x whatever the size of a query
// is: products with scales overflow only if scores do, and lose no significant digits.
func usualKeys[T dense.Float](scales []float32, x dense.Matrix[T], count int) bool {
	largest := vecmath.Peak(scales)
	return largest <= 0x1p64 && !(largest*float32(count+Outlying-1) > Outlying*vecmath.Sum(scales)) && !lost(scales, x)
}

// sizeOf returns a bound of the sizes of values with the given means and scales of columns. The
// result is NaN or +Inf if there is no bound.
func sizeOf[T dense.Float](means []T, scales []float32) (size float64) {
	for l, mean := range means {
		size = max(size, math.Abs(float64(mean))+most*float64(scales[l]))
	}
	return size
}

func (s *store[T]) finite(x dense.Matrix[T], lo int) bool {
	if s.valid == nil {
		return layout.Finite(x)
	}
	for j := range x.Rows {
		if s.valid[lo+j] && !layout.Finite(x.RowRange(j, j+1)) {
			return false
		}
	}
	return true
}

// lost reports whether the largest elements of x lose digits in codes with the given scales.
func lost[T dense.Float](scales []float32, x dense.Matrix[T]) bool {
	if vecmath.Peak(scales) > bytedot.Least {
		return false
	}
	for i := range x.Rows {
		if !layout.IsZero(x.Row(i)) {
			return true
		}
	}
	return false
}

// overflows reports whether scores of a query and the keys of tile t may overflow. A score is a
// product of codes times scales plus the offset.
func (s *store[T]) overflows(t int, scale, offset float32) bool {
	return !(s.reach[t]*max(scale, -scale)+max(offset, -offset) <= math.MaxFloat32)
}

func (s *store[T]) large() bool {
	for _, size := range s.sizes {
		if !(size <= Largest) {
			return true
		}
	}
	return false
}

// less sets mean to the mean of the rows of x that count, which are keys from key lo on. It returns
// x less the mean, with zeros for other rows, and the number of rows, at least 1.
func (s *store[T]) less(e *encoding[T], memory *scratch.Buffer[T], x dense.Matrix[T], lo int, mean []T) (y dense.Matrix[T], count int) {
	memory.Shape(x.Rows, x.Cols)
	y = memory.Rows(x.Rows)
	e.ones, e.minus = scratch.Resize(e.ones, x.Rows), scratch.Resize(e.minus, x.Rows)
	for j := range x.Rows {
		e.ones[j], e.minus[j] = 1, -1
		if s.counts(lo + j) {
			copy(y.Row(j), x.Row(j))
			count++
		} else {
			clear(y.Row(j))
			e.minus[j] = 0
		}
	}
	count = max(count, 1)
	clear(mean)
	vecmath.SumRows(y.Data, y.Stride, e.ones, mean)
	vecmath.Scale(mean, 1/T(count))
	e.unused = scratch.Resize(e.unused, x.Cols)
	vecmath.Outer(y.Data, y.Stride, e.minus, e.minus, mean, e.unused)
	return y, count
}

func (s *store[T]) counts(j int) bool { return s.valid == nil || s.valid[j] }

type encoding[T dense.Float] struct {
	keys, values, rotated scratch.Buffer[T]
	products              scratch.Buffer[T] // of the dither and keys
	ones, minus, unused   []T               // of less
}

var encodings pool.Pair[encoding[float32], encoding[float64]]

// rotate returns the rotations of rows, which are valid until the next call.
func (e *encoding[T]) rotate(r *hadamard.Rotation[T], x dense.Matrix[T]) dense.Matrix[T] {
	_, d := r.Dims()
	e.rotated.Shape(x.Rows, d)
	return r.Apply(e.rotated.Rows(x.Rows), x)
}

var rotations sync.Map

// rotationKey is the key of a rotation in rotations, different for each T.
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
