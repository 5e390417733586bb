package clusters

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// index holds the clusters of a sequence of segments side by side, so that a query scores all of
// them at once.
type index[T dense.Float] struct {
	segments []*segment[T]
	starts   []int // the first cluster of each segment, and the number of clusters

	counts                   []int
	logs, variances, spreads []T
	means, values            []T // rows of d and dv+1 numbers
	codes                    bytedot.Rows
	coded                    []bool // whether codes stand for the mean of each cluster
	centre                   []T    // of codes: the mean of most keys of the first segment
	sizes, sorted            []T    // during begin
}

// begin removes all segments, and sets the centre to the mean of the first keys k that are not much
// larger than most.
func (x *index[T]) begin(k dense.Matrix[T]) {
	x.segments, x.starts = x.segments[:0], append(x.starts[:0], 0)
	x.counts, x.logs, x.variances, x.spreads = x.counts[:0], x.logs[:0], x.variances[:0], x.spreads[:0]
	x.means, x.values = x.means[:0], x.values[:0]
	x.codes.Clear()
	x.coded = x.coded[:0]
	x.centre = scratch.Resize(x.centre, k.Cols)
	clear(x.centre)
	sizes := scratch.Resize(x.sizes, k.Rows)
	x.sizes = sizes
	for i := range sizes {
		sizes[i] = coded.SizeOf(k.Row(i))
	}
	most, count := coded.Outlying*median(&x.sorted, sizes), T(0)
	for _, size := range sizes {
		if size <= most {
			count++
		}
	}
	for i, size := range sizes {
		if size <= most {
			vecmath.AddScaled(x.centre, k.Row(i), 1/count)
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

// add adds a segment, which has been built with the centre.
func (x *index[T]) add(s *segment[T]) {
	x.segments = append(x.segments, s)
	for l := range s.clusters() {
		x.counts, x.coded = append(x.counts, s.count(l)), append(x.coded, s.coded && s.codes.hasMean[l])
		x.means, x.values = append(x.means, s.means.Row(l)...), append(x.values, s.values.Row(l)...)
	}
	x.logs, x.variances, x.spreads = append(x.logs, s.logs...), append(x.variances, s.variances...), append(x.spreads, s.spreads...)
	if s.coded {
		x.codes.Append(&s.codes.means)
	}
	x.starts = append(x.starts, len(x.logs))
}
