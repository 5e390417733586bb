package tiles

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Pairs says for each pair of a query and a key of one head what is added to its score, and whether
// the pair is closed: the query does not see the key. Sides of 1 of Bias and Mask are broadcast.
// Keys beyond Bias or Mask are closed, and pairs with a bias of −Inf.
type Pairs[T dense.Float] struct {
	Bias           dense.Tensor[T]    // zero if there is none
	Mask           dense.Tensor[bool] // zero if there is none
	Sequence, Head int
	Silent         []bool          // queries that see no key; nil if there are none
	Gradient       dense.Matrix[T] // gradients of biases to write, a row a query; zero if none
}

func (p *Pairs[T]) Given() bool { return !p.Bias.IsZero() || !p.Mask.IsZero() || p.Silent != nil }

func (p *Pairs[T]) biasRow(i int) []T {
	return p.Bias.Row(min(p.Sequence, p.Bias.Batch-1), min(p.Head, p.Bias.Heads-1), min(i, p.Bias.Rows-1))
}

func (p *Pairs[T]) maskRow(i int) []bool {
	return p.Mask.Row(min(p.Sequence, p.Mask.Batch-1), min(p.Head, p.Mask.Heads-1), min(i, p.Mask.Rows-1))
}

// blind reports whether no query first ≤ i < end sees a key lo ≤ j < hi by Mask and the columns of
// Bias.
func (p *Pairs[T]) blind(first, end, lo, hi int) bool {
	if !p.Bias.IsZero() && lo >= p.Bias.Cols || !p.Mask.IsZero() && lo >= p.Mask.Cols {
		return true
	}
	if p.Mask.IsZero() {
		return false
	}
	for i := first; i < end; i++ {
		if slices.Contains(p.maskRow(i)[lo:min(hi, p.Mask.Cols)], true) {
			return false
		}
	}
	return true
}

// SkipPadding lets places begin at the first of n keys that counts and that Pairs do not hide from
// every query: keys before it are padding. Places must be nil.
func (m *Mask[T]) SkipPadding(n int) {
	p, rows, first := &m.Pairs, 1, n
	masked, biased := !p.Mask.IsZero(), !p.Bias.IsZero()
	if masked || biased {
		rows = max(p.Mask.Rows, p.Bias.Rows)
	}
	for i := range rows {
		var mask []bool
		var bias []T
		if masked {
			mask = p.maskRow(i)
		}
		if biased {
			bias = p.biasRow(i)
		}
		for j := 0; j < first; j++ {
			hidden := m.Valid != nil && !m.Valid[j] || masked && (j >= len(mask) || !mask[j]) ||
				biased && (j >= len(bias) || bias[j] == T(math.Inf(-1)))
			if !hidden {
				first = j
			}
		}
	}
	m.Past, m.Before = m.Past-first, m.Before-first
}

// changes writes the summands of scores for the queries from query first on (columns) and the keys
// from key lo on (rows), −Inf for closed pairs.
func (m *Mask[T]) changes(dst dense.Matrix[T], first, lo int) {
	p, closed := &m.Pairs, T(math.Inf(-1))
	switch {
	case p.Bias.IsZero() && p.Mask.IsZero():
		for j := range dst.Rows {
			clear(dst.Row(j))
		}
	case p.Bias.IsZero():
		addends := [2]T{closed, 0}
		transposed(dst, lo, p.Mask.Cols, func(i int) []bool { return p.maskRow(first + i) }, func(dst []T, rows [][]bool, j int) {
			for i := range dst {
				dst[i] = addends[index(rows[i][j])]
			}
		})
	default:
		transposed(dst, lo, p.Bias.Cols, func(i int) []T { return p.biasRow(first + i) }, func(dst []T, rows [][]T, j int) {
			for i := range dst {
				dst[i] = rows[i][j]
			}
		})
		if !p.Mask.IsZero() {
			transposed(dst, lo, p.Mask.Cols, func(i int) []bool { return p.maskRow(first + i) }, func(dst []T, rows [][]bool, j int) {
				for i := range dst {
					if !rows[i][j] {
						dst[i] = closed
					}
				}
			})
		}
	}
	if p.Silent != nil {
		for i, silent := range p.Silent[first : first+dst.Cols] {
			for j := 0; silent && j < dst.Rows; j++ {
				dst.Data[j*dst.Stride+i] = closed
			}
		}
	}
	for j := range dst.Rows {
		row := dst.Row(j)
		from, to := m.Queries(lo+j, first, first+len(row))
		layout.Fill(row[:from], closed)
		layout.Fill(row[max(from, to):], closed)
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

// transposed reads the rows of a tensor from column lo on, which are columns of dst. It reads
// several rows together, so that dst is written by cache lines. set writes elements of the row of
// dst that belongs to column j. Rows of dst beyond the columns of the tensor become −Inf.
func transposed[T dense.Float, E dense.Element](dst dense.Matrix[T], lo, cols int, row func(i int) []E, set func(dst []T, rows [][]E, j int)) {
	const side = 16
	keys := min(max(cols-lo, 0), dst.Rows)
	for j := keys; j < dst.Rows; j++ {
		layout.Fill(dst.Row(j), T(math.Inf(-1)))
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

// addChanges adds changes to scores. The score of a closed pair becomes −Inf, even if it was NaN.
func addChanges[T dense.Float](scores, changes []T) {
	if s := vecmath.HalfSquaredNorm(scores); s-s == 0 {
		vecmath.AddScaled(scores, changes, 1)
		return
	}
	closed := T(math.Inf(-1))
	for i, c := range changes {
		if scores[i] += c; c == closed {
			scores[i] = closed
		}
	}
}

func (p *Pairs[T]) learn(y []T, first, key int) {
	if key >= p.Gradient.Cols {
		return
	}
	for i, g := range y {
		p.Gradient.Data[(first+i)*p.Gradient.Stride+key] = g
	}
}

// AddTo changes the scores of the queries from query first on, with a row for each query, as the
// mask says. It returns which of these queries see a key, and the changes without slopes, with a
// row for each key: −Inf if a query does not see the key.
func (m *Mask[T]) AddTo(scores dense.Matrix[T], first int) (open []bool, changes dense.Matrix[T]) {
	closed := T(math.Inf(-1))
	changes = dense.New[T](scores.Cols, scores.Rows)
	m.changes(changes, first, 0)
	open = make([]bool, scores.Rows)
	for i := range scores.Rows {
		row := scores.Row(i)
		for j := range row {
			x := changes.At(j, i)
			if x == closed {
				row[j] = x
				continue
			}
			distance := math.Abs(float64(m.Place(first+i) - j))
			row[j], open[i] = row[j]+(x-T(m.Slope*distance)), true
		}
	}
	return open, changes
}
