package clusters

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// findCentres returns the centres of the clusters of keys, in memory unless they are given.
func findCentres[T dense.Float](a *attention[T], memory *scratch.Buffer[T], k dense.Matrix[T]) dense.Matrix[T] {
	if a.centres.Rows > 0 {
		return a.centres
	}
	f := pool.Get[finding[T]](&findings)
	c := a.clustersFor(k.Rows)
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
	for range a.opts.Rounds {
		nearest(f.labels, sample, centres)
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
	pool.Put(&findings, f)
	return centres
}

// finding is the scratch memory of find.
type finding[T dense.Float] struct {
	source       rand.PCG
	places       []int
	sample, sums scratch.Buffer[T]
	labels       []int32
	counts       []int
}

var findings pool.Pair[finding[float32], finding[float64]]

// draw returns so many of the keys, in random order.
func (f *finding[T]) draw(seed [2]uint64, k dense.Matrix[T], size int) dense.Matrix[T] {
	f.places = scratch.Resize(f.places, k.Rows)
	for i := range f.places {
		f.places[i] = i
	}
	f.source.Seed(seed[0], seed[1])
	rand.New(&f.source).Shuffle(k.Rows, func(i, j int) { f.places[i], f.places[j] = f.places[j], f.places[i] })
	f.sample.Shape(size, k.Cols)
	sample := f.sample.Rows(size)
	for i, j := range f.places[:size] {
		copy(sample.Row(i), k.Row(j))
	}
	return sample
}
