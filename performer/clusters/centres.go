package clusters

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// findCentres runs k-means on a sample of the keys and returns the centres, which it keeps in
// memory.
func (a *attention[T]) findCentres(memory *scratch.Buffer[T], k dense.Matrix[T]) dense.Matrix[T] {
	f := pool.Get[kmeansScratch[T]](&kmeansPool)
	c := a.opts.Clusters
	if c == 0 {
		c = int(4 * math.Sqrt(float64(k.Rows)))
	}
	c = min(max(c, 1), k.Rows)
	size := k.Rows
	if a.opts.Sample < size/c {
		size = c * a.opts.Sample
	}
	sample := f.draw(a.seed, k, size)
	memory.Shape(c, k.Cols)
	f.sums.Shape(c, k.Cols)
	centres, sums := memory.Rows(c), f.sums.Rows(c)
	dense.Copy(centres, sample.RowRange(0, c))
	f.labels, f.counts = scratch.Resize(f.labels, size), scratch.Resize(f.counts, c)
	for range a.opts.Iterations {
		assign(f.labels, sample, centres)
		clear(f.counts)
		clear(f.sums.Data)
		for i, l := range f.labels {
			f.counts[l]++
			vecmath.AddScaled(sums.Row(int(l)), sample.Row(i), 1)
		}
		for l, n := range f.counts {
			if n > 0 {
				vecmath.Affine(centres.Row(l), sums.Row(l), 1/T(n), 0)
			}
		}
	}
	pool.Put(&kmeansPool, f)
	return centres
}

// kmeansScratch is the scratch memory of one call of findCentres.
type kmeansScratch[T dense.Float] struct {
	source       rand.PCG
	order        []int
	sample, sums scratch.Buffer[T]
	labels       []int32
	counts       []int
}

var kmeansPool pool.Pair[kmeansScratch[float32], kmeansScratch[float64]]

// draw returns size different keys in random order.
func (f *kmeansScratch[T]) draw(seed [2]uint64, k dense.Matrix[T], size int) dense.Matrix[T] {
	f.order = scratch.Resize(f.order, k.Rows)
	for i := range f.order {
		f.order[i] = i
	}
	f.source.Seed(seed[0], seed[1])
	rand.New(&f.source).Shuffle(k.Rows, func(i, j int) { f.order[i], f.order[j] = f.order[j], f.order[i] })
	f.sample.Shape(size, k.Cols)
	sample := f.sample.Rows(size)
	for i, j := range f.order[:size] {
		copy(sample.Row(i), k.Row(j))
	}
	return sample
}

// assign sets labels[i] to the number of the centre nearest to key i, and to 0 for a key that is
// not finite.
func assign[T dense.Float](labels []int32, keys, centres dense.Matrix[T]) {
	t := pool.Get[assignment[T]](&assignments)
	t.labels, t.keys, t.centres, t.halves = labels, keys, centres, scratch.Resize(t.halves, centres.Rows)
	for i := range t.halves {
		t.halves[i] = T(vecmath.HalfSquaredNorm(centres.Row(i)))
	}
	parallel.Do((keys.Rows+assignKeys-1)/assignKeys, t)
	t.labels, t.keys, t.centres = nil, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&assignments, t)
}

// assignKeys is the number of keys of a task of assign.
const assignKeys = 256

// assignment is one call of assign.
type assignment[T dense.Float] struct {
	labels        []int32
	keys, centres dense.Matrix[T]
	halves        []T // half the squared norms of the centres
}

var assignments pool.Pair[assignment[float32], assignment[float64]]

func (t *assignment[T]) Piece(i int) {
	lo := i * assignKeys
	hi := min(lo+assignKeys, t.keys.Rows)
	n, c := hi-lo, t.centres.Rows
	b := pool.Get[accumulator[T]](&accumulators)
	matmul.PackT(&b.packed, t.keys.RowRange(lo, hi))
	b.weights.Shape(c, n)
	products := b.weights.Rows(c)
	matmul.MulPacked(1, t.centres, &b.packed, 0, products, nil)
	best, labels := scratch.Resize(b.peaks, n), scratch.Resize(b.shifts, n)
	b.peaks, b.shifts = best, labels
	layout.Fill(best, T(math.Inf(-1)))
	clear(labels)
	vecmath.Highest(best, labels, products.Data, products.Stride, t.halves, c)
	for j, l := range labels {
		t.labels[lo+j] = int32(l)
	}
	pool.Put(&accumulators, b)
}
