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

// kmeans is the scratch memory of one division of keys into clusters.
type kmeans[T dense.Float] struct {
	source                rand.PCG
	order                 []int
	sample, sums, centres scratch.Buffer[T]
	labels                []int32
	distances             []T // squared distances of keys from centres; after assign less ‖k‖²
	counts                []int

	// Arguments of assign, whose pieces are runs of keys.
	keys, to dense.Matrix[T]
	halves   []T // half the squared norms of the centres
}

var kmeansPool pool.Pair[kmeans[float32], kmeans[float64]]

// outlier is the ratio of the squared distance of a key from its centre to the mean of all keys
// from which on the key is a cluster of its own. A few such keys would make the variance of a
// cluster large, and its weights meaningless.
const outlier = 8

// divide sets labels to the clusters of the keys k, and returns the number of clusters: c that
// k-means finds in a sample, and at most c keys that are far from all centres.
func (f *kmeans[T]) divide(k dense.Matrix[T], c, iterations int, seed [2]uint64) (clusters int) {
	f.findCentres(k, c, iterations, seed)
	f.assign(k)
	mean, finite := 0.0, 0
	for i := range f.distances {
		f.distances[i] += T(2 * vecmath.HalfSquaredNorm(k.Row(i)))
		if x := f.distances[i]; x-x == 0 {
			mean += float64(x)
			finite++
		}
	}
	most := T(outlier * mean / float64(max(finite, 1)))
	clusters = c
	for i, x := range f.distances {
		if x > most && clusters < 2*c {
			f.labels[i] = int32(clusters)
			clusters++
		}
	}
	return clusters
}

// keysPerCluster is the number of keys of the sample of k-means for each cluster.
const keysPerCluster = 16

// findCentres runs k-means on a sample of the keys, or on all keys.
func (f *kmeans[T]) findCentres(k dense.Matrix[T], c, iterations int, seed [2]uint64) {
	size := k.Rows
	if keysPerCluster < size/c {
		size = c * keysPerCluster
	}
	f.centres.Shape(c, k.Cols)
	f.sums.Shape(c, k.Cols)
	centres, sums := f.centres.Rows(c), f.sums.Rows(c)
	x := k
	if size < k.Rows {
		f.sample.Shape(size, k.Cols)
		x = f.sample.Rows(size)
		f.draw(seed, x, k)
		dense.Copy(centres, x.RowRange(0, c))
	} else {
		f.draw(seed, centres, k)
	}
	f.counts = scratch.Resize(f.counts, c)
	for range iterations {
		f.assign(x)
		clear(f.counts)
		clear(f.sums.Data)
		for i, l := range f.labels {
			f.counts[l]++
			vecmath.AddScaled(sums.Row(int(l)), x.Row(i), 1)
		}
		for l, n := range f.counts {
			if n > 0 {
				vecmath.Affine(centres.Row(l), sums.Row(l), 1/T(n), 0)
			}
		}
	}
}

// draw copies different random rows of keys to dst.
func (f *kmeans[T]) draw(seed [2]uint64, dst, keys dense.Matrix[T]) {
	f.order = scratch.Resize(f.order, keys.Rows)
	for i := range f.order {
		f.order[i] = i
	}
	f.source.Seed(seed[0], seed[1])
	r := rand.New(&f.source)
	for i := range dst.Rows {
		j := i + r.IntN(keys.Rows-i)
		f.order[i], f.order[j] = f.order[j], f.order[i]
		copy(dst.Row(i), keys.Row(f.order[i]))
	}
}

// assign sets the label of each key to the number of the nearest centre, and to 0 for a key that is
// not finite.
func (f *kmeans[T]) assign(keys dense.Matrix[T]) {
	f.keys = keys
	centres := f.centres.Rows(len(f.counts))
	f.to = centres
	f.labels, f.distances = scratch.Resize(f.labels, keys.Rows), scratch.Resize(f.distances, keys.Rows)
	f.halves = scratch.Resize(f.halves, centres.Rows)
	for i := range f.halves {
		f.halves[i] = T(vecmath.HalfSquaredNorm(centres.Row(i)))
	}
	parallel.Do((keys.Rows+assignKeys-1)/assignKeys, f)
	f.keys, f.to = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// assignKeys is the number of keys of a piece of assign.
const assignKeys = 256

func (f *kmeans[T]) Piece(i int) {
	lo := i * assignKeys
	hi := min(lo+assignKeys, f.keys.Rows)
	n, c := hi-lo, f.to.Rows
	b := pool.Get[accumulator[T]](&accumulators)
	matmul.PackT(&b.packed, f.keys.RowRange(lo, hi))
	b.weights.Shape(c, n)
	products := b.weights.Rows(c)
	matmul.MulPacked(1, f.to, &b.packed, 0, products, nil)
	best, labels := scratch.Resize(b.peaks, n), scratch.Resize(b.shifts, n)
	b.peaks, b.shifts = best, labels
	layout.Fill(best, T(math.Inf(-1)))
	clear(labels)
	vecmath.Highest(best, labels, products.Data, products.Stride, f.halves, c)
	for j, l := range labels {
		f.labels[lo+j] = int32(l)
		f.distances[lo+j] = -2 * best[j]
	}
	pool.Put(&accumulators, b)
}
