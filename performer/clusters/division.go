package clusters

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// division holds keys and values by cluster, and within a cluster in the order of the caller. A
// division does not change after build.
//
// For each cluster it has the number n_c of keys, their mean μ_c, the variance t_c of a coordinate
// and the mean v̄_c of the values. t'_c = ‖Σ‖_F/√d for the covariance Σ of the keys is t_c if keys
// vary alike in all directions, and up to t_c·√d if they vary in one.
type division[T dense.Float] struct {
	starts    []int           // the first key of each cluster, and the number of keys
	places    []int32         // the place by cluster of each key of the caller
	means     dense.Matrix[T] // clusters×d: μ_c
	logs      []T             // log n_c
	variances []T             // t_c
	spreads   []T             // t'_c
	values    dense.Matrix[T] // clusters×(dv+1): v̄_c, 1
	codes     codes[T]
	coded     bool

	memory [4]scratch.Buffer[T] // keys and values by cluster, means, values
	k, v   dense.Matrix[T]      // the arguments of build
}

func (s *division[T]) clusters() int { return s.means.Rows }

// count returns n_c.
func (s *division[T]) count(cluster int) int { return s.starts[cluster+1] - s.starts[cluster] }

// keysOf returns the keys of a cluster, and valuesOf their values.
func (s *division[T]) keysOf(cluster int) dense.Matrix[T]   { return s.rows(0, cluster) }
func (s *division[T]) valuesOf(cluster int) dense.Matrix[T] { return s.rows(1, cluster) }

func (s *division[T]) rows(i, cluster int) dense.Matrix[T] {
	return s.memory[i].Rows(len(s.places)).RowRange(s.starts[cluster], s.starts[cluster+1])
}

// hasCode reports whether codes stand for the mean of a cluster.
func (s *division[T]) hasCode(cluster int) bool { return s.coded && s.codes.hasMean[cluster] }

// build divides keys and values into clusters.
func (s *division[T]) build(a *attention[T], k, v dense.Matrix[T]) {
	f := pool.Get[kmeans[T]](&kmeansPool)
	c := f.divide(k, a.clustersOf(k.Rows), a.Iterations, a.seed)
	s.sort(f.labels, c)
	pool.Put(&kmeansPool, f)
	s.memory[0].Shape(k.Rows, k.Cols)
	s.memory[1].Shape(k.Rows, v.Cols)
	s.memory[2].Shape(c, k.Cols)
	s.memory[3].Shape(c, v.Cols+1)
	s.means, s.values = s.memory[2].Rows(c), s.memory[3].Rows(c)
	s.logs, s.variances, s.spreads = scratch.Resize(s.logs, c), scratch.Resize(s.variances, c), scratch.Resize(s.spreads, c)
	if s.coded = a.codes(k.Cols); s.coded {
		s.codes.setCentre(k)
	}
	s.k, s.v = k, v
	parallel.Do((k.Rows+copiedKeys-1)/copiedKeys, (*copyTask[T])(s))
	parallel.Do(c, s)
	s.k, s.v = dense.Matrix[T]{}, dense.Matrix[T]{}
	if s.coded {
		s.encode()
	}
}

// sort sorts the keys by their labels.
func (s *division[T]) sort(labels []int32, clusters int) {
	s.places, s.starts = scratch.Resize(s.places, len(labels)), scratch.Resize(s.starts, clusters+1)
	clear(s.starts)
	for _, l := range labels {
		s.starts[l]++
	}
	at := 0
	for l, n := range s.starts {
		s.starts[l] = at
		at += n
	}
	for j, l := range labels {
		s.places[j] = int32(s.starts[l])
		s.starts[l]++
	}
	copy(s.starts[1:], s.starts[:clusters])
	s.starts[0] = 0
}

// copyTask copies keys and values to their places.
type copyTask[T dense.Float] division[T]

// copiedKeys is the number of keys that are copied at a time.
const copiedKeys = 256

func (t *copyTask[T]) Piece(i int) {
	keys, values := t.memory[0].Rows(len(t.places)), t.memory[1].Rows(len(t.places))
	for j := i * copiedKeys; j < min((i+1)*copiedKeys, t.k.Rows); j++ {
		copy(keys.Row(int(t.places[j])), t.k.Row(j))
		copy(values.Row(int(t.places[j])), t.v.Row(j))
	}
}

// Piece computes the means of the keys and values of cluster l, and the variance of the keys. The
// variance of the keys is a sum of squared differences from the mean, which has no cancellation.
func (s *division[T]) Piece(l int) {
	keys, values, n := s.keysOf(l), s.valuesOf(l), s.count(l)
	mean, value := s.means.Row(l), s.values.Row(l)
	clear(mean)
	clear(value)
	if s.logs[l], s.variances[l], s.spreads[l] = T(math.Inf(-1)), 0, 0; n == 0 {
		return
	}
	dv := len(value) - 1
	e := pool.Get[rotateScratch[T]](&rotatePool)
	e.ones = scratch.Resize(e.ones, n)
	layout.Fill(e.ones, 1)
	vecmath.SumRows(keys.Data, keys.Stride, e.ones, mean)
	vecmath.SumRows(values.Data, values.Stride, e.ones, value[:dv])
	vecmath.Scale(mean, 1/T(n))
	vecmath.Scale(value[:dv], 1/T(n))
	value[dv] = 1
	s.logs[l] = T(math.Log(float64(n)))
	differences := e.centred(keys, mean)
	some := differences.RowRange(0, min(n, spreadKeys))
	e.products.Shape(some.Rows, some.Rows)
	products, squares, pairs := e.products.Rows(some.Rows), 0.0, 0.0
	matmul.MulT(1, some, some, 0, products)
	for i := range some.Rows {
		squares += float64(products.At(i, i))
		pairs += 2 * vecmath.HalfSquaredNorm(products.Row(i))
	}
	for i := some.Rows; i < n; i++ {
		squares += 2 * vecmath.HalfSquaredNorm(differences.Row(i))
	}
	s.variances[l] = T(squares / float64(n) / float64(len(mean)))
	s.spreads[l] = T(math.Sqrt(pairs/float64(len(mean))) / float64(some.Rows))
	pool.Put(&rotatePool, e)
}

// spreadKeys is the number of keys of a cluster whose products make t'_c.
const spreadKeys = 16

// codes hold the keys and values of clusters in 8 bits. Let R be the rotation of package coded, c
// the mean of all keys, and r a vector that stands for R·(μ_c − c). Scores are
//
//	q·k = R·q·(R·(k − c) − r) + R·q·r + q·c.
//
// The first product is a product of codes. In float32 r consists of codes too, and the second
// product is one of codes: rounding of r does no harm. The codes of values are codes of differences
// from the mean value, with a scale for each column.
type codes[T dense.Float] struct {
	rotation *hadamard.Rotation[T]
	keys     []bytedot.Rows    // of each cluster: keys×coordinates
	values   []bytedot.Columns // of each cluster: keys×columns
	has      []bool            // whether a cluster has codes

	means   bytedot.Rows      // r
	rotated scratch.Buffer[T] // r
	hasMean []bool            // whether means stands for r of a cluster
	centre  []T               // c
	sizes   []T               // during setCentre
	sorted  []T
	scales  []float32 // during encode
}

// canCode reports whether keys of dimension d can have codes.
func canCode(d int) bool { return d > 0 && d <= bytedot.MostInner/2 }

// setCentre sets c to the mean of the keys k that are not much larger than most.
func (o *codes[T]) setCentre(k dense.Matrix[T]) {
	o.centre, o.sizes = scratch.Resize(o.centre, k.Cols), scratch.Resize(o.sizes, k.Rows)
	clear(o.centre)
	for i := range o.sizes {
		o.sizes[i] = coded.SizeOf(k.Row(i))
	}
	most, count := coded.Outlying*median(&o.sorted, o.sizes), T(0)
	for _, size := range o.sizes {
		if size <= most {
			count++
		}
	}
	for i, size := range o.sizes {
		if size <= most {
			vecmath.AddScaled(o.centre, k.Row(i), 1/count)
		}
	}
}

// median returns the median of the numbers in x, or 0 if all are NaN. It overwrites sorted.
func median[T dense.Float](sorted *[]T, x []T) T {
	*sorted = slices.DeleteFunc(append((*sorted)[:0], x...), func(v T) bool { return v != v })
	if len(*sorted) == 0 {
		return 0
	}
	slices.Sort(*sorted)
	return (*sorted)[len(*sorted)/2]
}

// encode computes the codes.
func (s *division[T]) encode() {
	o, c, d := &s.codes, s.clusters(), s.means.Cols
	o.rotation = coded.Rotation[T](d)
	for len(o.keys) < c {
		o.keys, o.values = append(o.keys, bytedot.Rows{}), append(o.values, bytedot.Columns{})
	}
	o.has = scratch.Resize(o.has, c)
	e := pool.Get[rotateScratch[T]](&rotatePool)
	x := e.rotate(o.rotation, e.centred(s.means, o.centre))
	o.rotated.Shape(c, x.Cols)
	r := dense.Copy(o.rotated.Rows(c), x)
	o.hasMean = scratch.Resize(o.hasMean, c)
	clear(o.hasMean)
	if _, single := any(x).(dense.Matrix[float32]); single {
		bytedot.QuantiseRows(&o.means, x, nil)
		most := coded.Outlying * median(&o.scales, o.means.Scales)
		for l, scale := range o.means.Scales {
			if o.hasMean[l] = scale <= most && coded.UsualKeys(o.means.Scales[l:l+1], x.RowRange(l, l+1), 1); !o.hasMean[l] {
				continue
			}
			for j := range x.Cols {
				r.Row(l)[j] = T(scale) * T(o.means.Code(l, j))
			}
		}
	}
	pool.Put(&rotatePool, e)
	parallel.Do(c, (*codeTask[T])(s))
}

// codeTask computes the codes of the keys and values of a cluster. The cluster has no codes if it
// has more keys than products of codes allow, or if codes would represent its keys or values badly.
type codeTask[T dense.Float] division[T]

func (t *codeTask[T]) Piece(l int) {
	s := (*division[T])(t)
	o := &s.codes
	if o.has[l] = false; s.count(l) > bytedot.MostInner {
		return
	}
	e := pool.Get[rotateScratch[T]](&rotatePool)
	k, v, r := &o.keys[l], &o.values[l], o.rotated.Rows(s.clusters()).Row(l)
	x := e.rotate(o.rotation, e.centred(s.keysOf(l), o.centre))
	e.subtract(x, r)
	has := bytedot.QuantiseRows(k, x, nil) && coded.UsualKeys(k.Scales, x, x.Rows)
	mean := s.values.Row(l)[:s.values.Cols-1]
	x = e.centred(s.valuesOf(l), mean)
	o.has[l] = bytedot.QuantiseTile(v, x) && coded.UsualValues(v.Scales, x, mean) && has
	pool.Put(&rotatePool, e)
}

// rotateScratch is the scratch memory of one goroutine that computes codes.
type rotateScratch[T dense.Float] struct {
	differences, rotated, products scratch.Buffer[T]
	ones, minus, unused            []T
}

var rotatePool pool.Pair[rotateScratch[float32], rotateScratch[float64]]

// centred returns the rows of x minus mean. The result is valid until the next call.
func (e *rotateScratch[T]) centred(x dense.Matrix[T], mean []T) dense.Matrix[T] {
	e.differences.Shape(x.Rows, x.Cols)
	y := e.differences.Rows(x.Rows)
	dense.Copy(y, x)
	e.subtract(y, mean)
	return y
}

// subtract subtracts v from the rows of x.
func (e *rotateScratch[T]) subtract(x dense.Matrix[T], v []T) {
	e.minus, e.unused = scratch.Resize(e.minus, x.Rows), scratch.Resize(e.unused, len(v))
	layout.Fill(e.minus, -1)
	vecmath.Outer(x.Data, x.Stride, e.minus, e.minus, v, e.unused)
}

// rotate returns the rotated rows of x. The result is valid until the next call.
func (e *rotateScratch[T]) rotate(r *hadamard.Rotation[T], x dense.Matrix[T]) dense.Matrix[T] {
	_, d := r.Dims()
	e.rotated.Shape(x.Rows, d)
	return r.Apply(e.rotated.Rows(x.Rows), x)
}
