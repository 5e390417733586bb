package performer

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// pairing says what is added to the scores of pairs of a query and a key of one head, and which
// pairs are closed: −Inf is added to these. Sides of 1 of bias and mask serve all heads, sequences
// or queries; keys beyond their columns are closed.
type pairing[T dense.Float] struct {
	given          bool
	bias           dense.Tensor[T]    // zero if there is none
	mask           dense.Tensor[bool] // zero if there is none
	sequence, head int
	causal         bool
	past           int             // query i sees the keys j ≤ i + past if causal
	valid          []bool          // keys that count; nil are all
	silent         []bool          // queries that see nothing; nil if there are none
	dbias          dense.Matrix[T] // gradients of biases to write, a row for each query; zero if none
}

// biasRow returns the biases of query i, for the first keys.
func (p *pairing[T]) biasRow(i int) []T {
	return p.bias.Row(min(p.sequence, p.bias.Batch-1), min(p.head, p.bias.Heads-1), min(i, p.bias.Rows-1))
}

// maskRow returns the mask of query i, for the first keys.
func (p *pairing[T]) maskRow(i int) []bool {
	return p.mask.Row(min(p.sequence, p.mask.Batch-1), min(p.head, p.mask.Heads-1), min(i, p.mask.Rows-1))
}

// blind reports whether no query from query first to query end sees a key from key lo to key hi, as
// far as that is known without looking at biases.
func (p *pairing[T]) blind(first, end, lo, hi int) bool {
	if p.causal && lo > end-1+p.past || !p.bias.IsZero() && lo >= p.bias.Cols || !p.mask.IsZero() && lo >= p.mask.Cols {
		return true
	}
	if p.mask.IsZero() {
		return false
	}
	for i := first; i < end; i++ {
		if slices.Contains(p.maskRow(i)[lo:min(hi, p.mask.Cols)], true) {
			return false
		}
	}
	return true
}

// changes writes what is added to the scores of the queries from query first on (columns) and the
// keys from key lo on (rows), −Inf for pairs that are closed.
func (p *pairing[T]) changes(dst dense.Matrix[T], first, lo int) {
	closed := T(math.Inf(-1))
	switch {
	case p.bias.IsZero() && p.mask.IsZero():
		zero(dst)
	case p.bias.IsZero():
		addends := [2]T{closed, 0}
		transposed(dst, lo, p.mask.Cols, func(i int) []bool { return p.maskRow(first + i) }, func(dst []T, rows [][]bool, j int) {
			for i := range dst {
				dst[i] = addends[index(rows[i][j])]
			}
		})
	default:
		transposed(dst, lo, p.bias.Cols, func(i int) []T { return p.biasRow(first + i) }, func(dst []T, rows [][]T, j int) {
			for i := range dst {
				dst[i] = rows[i][j]
			}
		})
		if !p.mask.IsZero() {
			transposed(dst, lo, p.mask.Cols, func(i int) []bool { return p.maskRow(first + i) }, func(dst []T, rows [][]bool, j int) {
				for i := range dst {
					if !rows[i][j] {
						dst[i] = closed
					}
				}
			})
		}
	}
	if p.silent != nil {
		for i, silent := range p.silent[first : first+dst.Cols] {
			for j := 0; silent && j < dst.Rows; j++ {
				dst.Data[j*dst.Stride+i] = closed
			}
		}
	}
	for j := range dst.Rows {
		row := dst.Row(j)
		if p.valid != nil && !p.valid[lo+j] {
			fill(row, closed)
		} else if p.causal {
			fill(row[:min(max(lo+j-p.past-first, 0), len(row))], closed)
		}
	}
}

// index returns 0 or 1, without a branch.
func index(b bool) int {
	i := 0
	if b {
		i = 1
	}
	return i
}

// transposed goes over the rows of a tensor from column lo on, which are columns of dst. It takes so
// many rows together that dst is written by cache lines: set sets part of the row of dst that
// belongs to column j of the rows. Rows of dst beyond the columns of the tensor become −Inf.
func transposed[T dense.Float, E dense.Element](dst dense.Matrix[T], lo, cols int, row func(i int) []E, set func(dst []T, rows [][]E, j int)) {
	const side = 16
	keys := min(max(cols-lo, 0), dst.Rows)
	for j := keys; j < dst.Rows; j++ {
		fill(dst.Row(j), T(math.Inf(-1)))
	}
	var rows [side][]E
	for from := 0; from < dst.Cols && keys > 0; from += side {
		to := min(from+side, dst.Cols)
		for i := from; i < to; i++ {
			rows[i-from] = row(i)[lo : lo+keys]
		}
		for j := range keys {
			set(dst.Row(j)[from:to], rows[:to-from], j)
		}
	}
}

// attendPairs answers a request with pairs, of one head.
func (e Exact[T]) attendPairs(p request[T]) {
	if p.q.Rows > 0 && p.v.Cols > 0 {
		p, e = p.byPairs(e)
		exact[T]{request: p, form: e}.run()
	}
}

// byPairs leaves it to the pairs of a request which keys are seen.
func (p request[T]) byPairs(e Exact[T]) (request[T], Exact[T]) {
	p.pairs.causal, p.pairs.past, p.pairs.valid = e.Causal, p.past, p.valid
	p.past, p.valid, e.Causal = 0, nil, false
	return p, e
}

// takePairs adds a tile of keys and values, which begins at key number lo, to the sums of the
// queries. Pairs that are closed are left out: their keys and values may hold NaN.
func (t *tile[T]) takePairs(k, v dense.Matrix[T], lo int) {
	n, inf := len(t.peaks), T(math.Inf(1))
	if t.pairs.blind(t.first, t.first+n, lo, lo+k.Rows) {
		return
	}
	t.changes.Shape(tileKeys, n)
	scores, sums, changes := t.scores.Rows(k.Rows), t.sums.Rows(n), t.changes.Rows(k.Rows)
	t.pairs.changes(changes, t.first, lo)
	if !t.opens(changes) {
		return
	}
	t.score(scores, k)
	addChanges(scores, changes)
	t.weigh(scores, sums)
	if finite(v) {
		matmul.TMul(1, scores, v, 1, sums)
		return
	}
	for j := range scores.Rows {
		for i, x := range changes.Row(j) {
			if x != -inf {
				vecmath.AddScaled(sums.Row(i), v.Row(j), scores.Row(j)[i])
			}
		}
	}
}

// opens notes which queries see a key of a tile, and reports whether one does.
func (t *tile[T]) opens(changes dense.Matrix[T]) bool {
	closed, any := T(math.Inf(-1)), false
	fill(t.raised, closed)
	vecmath.PeakRows(t.raised, changes.Data, changes.Stride, changes.Rows)
	for i, peak := range t.raised {
		if peak == closed && !t.pairs.bias.IsZero() { // biases of NaN and +Inf are no peaks
			for j := 0; j < changes.Rows && peak == closed; j++ {
				peak = changes.Row(j)[i]
			}
		}
		if peak != closed {
			t.open[i], any = true, true
		}
	}
	return any
}

// addChanges adds changes to scores. A score of any value, NaN too, becomes −Inf where the pair is
// closed.
func addChanges[T dense.Float](scores, changes dense.Matrix[T]) {
	if finite(scores) {
		for j := range scores.Rows {
			vecmath.AddScaled(scores.Row(j), changes.Row(j), 1)
		}
		return
	}
	closed := T(math.Inf(-1))
	for j := range scores.Rows {
		x := scores.Row(j)
		for i, c := range changes.Row(j) {
			if x[i] += c; c == closed {
				x[i] = closed
			}
		}
	}
}

// backwardPairs writes the gradients of a request with pairs, of one head. Queries whose outputs
// have the gradient zero see nothing.
func (e Exact[T]) backwardPairs(p request[T]) {
	if p.empty() {
		return
	}
	p, e = p.byPairs(e)
	for i := range p.dout.Rows {
		if layout.IsZero(p.dout.Row(i)) {
			if p.pairs.silent == nil {
				p.pairs.silent = make([]bool, p.dout.Rows)
			}
			p.pairs.silent[i] = true
		}
	}
	exactBackward(p, e)
}

// close sets the weights x and the gradients y of a key to zero where pairs are closed.
func (p *pairing[T]) close(x, y, changes []T) {
	closed := T(math.Inf(-1))
	for i, c := range changes {
		if c == closed {
			x[i], y[i] = 0, 0
		}
	}
}

// learn writes the gradients y of the biases of the queries from query first on and one key.
func (p *pairing[T]) learn(y []T, first, key int) {
	if key >= p.dbias.Cols {
		return
	}
	for i, g := range y {
		p.dbias.Data[(first+i)*p.dbias.Stride+key] = g
	}
}

// openPairs computes the products of a tile of gradients if rows are not finite. It leaves out
// pairs that are closed.
func (e *exactGradient[T]) openPairs(dq, dk, dv, p, ds, changes dense.Matrix[T], lo int, old, beta T) {
	factor, closed := T(e.form.scale(e.k.Cols)), T(math.Inf(-1))
	if old == 0 {
		zero(dq)
	}
	if beta == 0 {
		zero(dk)
		zero(dv)
	}
	for j := range changes.Rows {
		for i, c := range changes.Row(j) {
			if c == closed {
				continue
			}
			slope := factor * ds.At(j, i)
			vecmath.AddScaled(dq.Row(i), e.k.Row(e.lo+j), slope)
			vecmath.AddScaled(dk.Row(j), e.q.Row(lo+i), slope)
			vecmath.AddScaled(dv.Row(j), e.dout.Row(lo+i), p.At(j, i))
		}
	}
}
