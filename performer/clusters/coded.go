package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// codes hold the keys and values of clusters in 8 bits. Let μ be the mean of the keys of a cluster
// and R the rotation of package coded. Scores are
//
//	q·k = R·q · R·(k − μ) + q·μ
//
// The first product is a product of codes. The codes of values are codes of differences from the
// mean value, with a scale for each column.
type codes[T dense.Float] struct {
	rotation     *hadamard.Rotation[T]
	keys, values []bytedot.Rows // of each cluster: keys×coordinates, columns×keys
	has          []bool         // whether a cluster has codes
}

// shape makes room for the codes of c clusters of points of dimension d.
func (s *codes[T]) shape(c, d int) {
	s.rotation = coded.Rotation[T](d)
	for len(s.keys) < c {
		s.keys, s.values = append(s.keys, bytedot.Rows{}), append(s.values, bytedot.Rows{})
	}
	s.has = scratch.Resize(s.has, c)
}

// canCode reports whether keys of dimension d can have codes.
func canCode(d int) bool { return d > 0 && d <= bytedot.MostInner/2 }

// set computes the codes of cluster l. The cluster has no codes if it has more keys than products
// of codes allow, or if codes would represent its keys or values badly.
func (s *codes[T]) set(l int, keys, values dense.Matrix[T], mean, meanValue []T) {
	if s.has[l] = keys.Rows <= bytedot.MostInner; !s.has[l] {
		return
	}
	e := pool.Get[rotateScratch[T]](&rotatePool)
	k, v := &s.keys[l], &s.values[l]
	x := e.rotate(s.rotation, e.centred(keys, mean))
	s.has[l] = bytedot.QuantiseRows(k, x, nil) && coded.UsualKeys(k.Scales, x)
	x = e.centred(values, meanValue)
	s.has[l] = bytedot.QuantiseTransposed(v, x) && coded.UsualValues(v.Scales, x, meanValue) && s.has[l]
	pool.Put(&rotatePool, e)
}

// rotateScratch is the scratch memory of one goroutine that computes codes.
type rotateScratch[T dense.Float] struct {
	differences, rotated scratch.Buffer[T]
}

var rotatePool pool.Pair[rotateScratch[float32], rotateScratch[float64]]

// centred returns the rows of x minus mean. The result is valid until the next call.
func (e *rotateScratch[T]) centred(x dense.Matrix[T], mean []T) dense.Matrix[T] {
	e.differences.Shape(x.Rows, x.Cols)
	y := e.differences.Rows(x.Rows)
	for i := range x.Rows {
		copy(y.Row(i), x.Row(i))
		vecmath.AddScaled(y.Row(i), mean, -1)
	}
	return y
}

// rotate returns the rotated rows of x. The result is valid until the next call.
func (e *rotateScratch[T]) rotate(r *hadamard.Rotation[T], x dense.Matrix[T]) dense.Matrix[T] {
	_, d := r.Dims()
	e.rotated.Shape(x.Rows, d)
	return r.Apply(e.rotated.Rows(x.Rows), x)
}

// codedScratch is the scratch memory of one goroutine for products of codes. Matrices have a column
// for each query.
type codedScratch[T dense.Float] struct {
	queries  bytedot.Rows    // codes of the queries of a block
	shares   []T             // weights of the cluster for the listed queries
	columns  bytedot.Columns // listed queries
	weights  bytedot.Columns
	scores   scratch.Buffer[float32] // keys×queries
	products scratch.Buffer[float32] // columns of values×queries

	// Elements of listed queries, padded to whole vectors.
	scales  []float32 // scales of codes times the scale of scores, in octaves
	peaks   []float32 // the largest scores
	factors []float32 // of the integer weights
	sizes   []float32 // sums of integer weights times their factors
	unused  []float32
	totals  []int32 // sums of integer weights
}

// octaves is the factor from natural logarithms to the units of bytedot.Weigh.
const octaves = math.Log2E * bytedot.Octave

// begin computes the codes of the queries of a block.
func (w *codedScratch[T]) begin(r *hadamard.Rotation[T], q dense.Matrix[T]) {
	e := pool.Get[rotateScratch[T]](&rotatePool)
	bytedot.QuantiseRows(&w.queries, e.rotate(r, q), nil)
	pool.Put(&rotatePool, e)
}

// addCodedKeys adds the keys of cluster l to the sums of the queries in list, the result of
// queriesOf.
func (b *accumulator[T]) addCodedKeys(s *index[T], l int, list []int32) {
	const most = 128 // queries whose scores stay in the first or second cache
	shares := b.coded.shares[:0]
	for p := range b.parts() {
		at := p*(b.clusters+1) + l
		shares = append(shares, b.shares[b.starts[at]:b.starts[at+1]]...)
	}
	b.coded.shares = shares
	for at := 0; at < len(list); at += most {
		end := min(at+most, len(list))
		b.addCodes(s, l, list[at:end], shares[at:end])
	}
}

// addCodes is addCodedKeys for some of the queries. shares are the weights w_ic of the cluster for
// these queries. The scores of the mean of the cluster follow from them:
//
//	exp(s·q_iᵀμ_c − peak_i) = w_ic·exp(−u_ic)/n_c.
func (b *accumulator[T]) addCodes(s *index[T], l int, list []int32, shares []T) {
	w, n, count := &b.coded, len(list), s.counts[l]
	sums := b.sums.Rows(len(b.peaks))
	dv, padded := sums.Cols-1, bytedot.Padded(n)
	for _, x := range []*[]float32{&w.scales, &w.peaks, &w.factors, &w.sizes, &w.unused} {
		*x = scratch.Resize(*x, padded)
	}
	w.totals = scratch.Resize(w.totals, padded)
	clear(w.totals)
	layout.Fill(w.peaks, float32(math.Inf(-1)))
	w.columns.Gather(&w.queries, list)
	vecmath.Affine(w.scales, w.columns.Scales, float32(b.scale*octaves), 0)
	rows := (count + 3) &^ 3
	w.scores.Shape(rows, padded)
	bytedot.Scores(w.scores.Rows(count), w.peaks, &s.codes.keys[l], &w.columns, w.scales)
	bytedot.Weigh(&w.weights, count, n, w.totals, w.scores.Rows(rows), w.peaks)
	variance := s.variance(l)
	for j, i := range list {
		w.factors[j] = w.peaks[j]*(1/octaves) - float32(b.norms[i]*variance)
	}
	clear(w.factors[n:])
	vecmath.Exp(w.factors, w.factors)
	for j, share := range shares {
		w.factors[j] *= float32(share / T(255*count))
		w.sizes[j] = w.factors[j] * float32(w.totals[j])
	}
	w.products.Shape(dv, padded)
	products := w.products.Rows(dv)
	bytedot.Scores(products, w.unused, &s.codes.values[l], &w.weights, w.factors)
	for c, mean := range s.means.Row(l)[:dv] {
		vecmath.AddScaled(products.Row(c)[:n], w.sizes[:n], float32(mean))
	}
	addTransposed(sums.ColRange(0, dv), list, products)
	for j, i := range list {
		sums.Row(int(i))[dv] += T(w.sizes[j])
	}
}

// addTransposed adds column j of x to row list[j] of sums.
func addTransposed[T dense.Float](sums dense.Matrix[T], list []int32, x dense.Matrix[float32]) {
	if single, ok := any(sums).(dense.Matrix[float32]); ok {
		bytedot.AddTransposed(single, list, x)
		return
	}
	for j, i := range list {
		row := sums.Row(int(i))
		for c := range row {
			row[c] += T(x.Row(c)[j])
		}
	}
}
