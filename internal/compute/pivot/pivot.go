// Package pivot chooses columns of a positive semi-definite matrix A by randomly pivoted Cholesky
// factorisation: the probability of the next pivot is proportional to the diagonal of the residual
// A − A_:P·A_PP⁻¹·A_P: of the pivots P so far [Chen, Epperly, Tropp & Webber 2023].
//
// Choose draws a block of proposals at once, with probabilities proportional to upper bounds of the
// residual, and accepts a proposal with the probability residual/bound. So the pivots have the
// distribution of pivots drawn one by one, and matrix products do most of the work. Bounds are
// earlier diagonals of the residual, which Choose computes again when rejected proposals would cost
// more [Epperly, Tropp & Webber 2024]. docs/references.md has the papers.
package pivot

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	blockPivots = 64  // largest number of pivots of a block
	proposals   = 256 // largest number of proposals of a block
	rowGrain    = 128 // number of rows for which another processor is worth its start

	elementCost = 64 // approximate cost of an element of A in multiply-adds

	proposalGrain = 32 // number of proposals for which another processor is worth its start
)

// Matrix is a symmetric positive semi-definite matrix A, of which it computes some columns.
type Matrix[T dense.Float] interface {
	// Fix sets the indices of the fixed columns.
	Fix(at []int)

	// Columns writes rows of the fixed columns into dst, concurrently on several goroutines.
	Columns(dst dense.Matrix[T], rows []int)
}

// Chooser chooses pivots. Chooser keeps memory between calls, up to n×r elements for r pivots of n.
// A Chooser belongs to one goroutine. The zero value is ready for use.
type Chooser[T dense.Float] struct {
	// Choose calls Stop, unless Stop is nil, before each block of proposals, and concurrently
	// between rows of proposals and of the factor. If Stop returns true, it must return true from
	// then on. Choose then returns the pivots so far.
	Stop func() bool

	a        Matrix[T]
	diagonal []float64 // of A
	least    []float64 // residuals up to least count as rounding
	bounds   []float64 // upper bounds of the diagonal of the residual
	sums     []float64 // cumulative sums of weights times bounds
	pivots   []int
	blocks   []pivotBlock[T]

	all    []int             // 0 … n−1
	factor scratch.Buffer[T] // n×r: A ≈ F·Fᵀ
	known  int               // number of columns of F that are computed
	rate   float64           // acceptance rate of proposals in the last block

	drawn      []int
	left       [proposals]float64 // the residuals of proposals
	candidates []candidatePivot
	kept       []int // indices of the candidates that become pivots
	lower      [blockPivots * blockPivots]float64

	rows           scratch.Buffer[T] // rows of F for proposals, proposals×r
	given          scratch.Buffer[T] // elements of A
	inverse, mixed scratch.Buffer[T]
}

type candidatePivot struct {
	at    int     // index of the column
	order int     // number of proposals up to this one
	least float64 // threshold of the residual for acceptance
	left  float64 // residual before the block
}

// pivotBlock has the pivots lo ≤ i < hi. With the Cholesky factor L of the residual among them and
// their rows F_B of F, the columns of F for these pivots are
//
//	(A_:B − F·F_Bᵀ)·L⁻ᵀ = A_:B·R − F·(F_Bᵀ·R),  R = L⁻ᵀ.
type pivotBlock[T dense.Float] struct {
	lo, hi       int
	fixed, known matmul.Packed[T] // R, and F_Bᵀ·R
}

// Choose returns at most count different pivots of A, in the order of the draws. The probability of
// a pivot is proportional to its weight times the diagonal of the residual. Nil weights are 1;
// weights that are negative or NaN count as 0. diagonal is the diagonal of A. A residual up to
// least counts as 0, and Choose stops early if no residual with a positive weight exceeds least.
// The result is valid until the next call, and does not depend on GOMAXPROCS.
//
// Choose takes O(n) time for each 64 of r pivots, and O(r·(c+r)) for each of about r proposals,
// where c is the time for an element of A; at worst O(n·r·(c+r)), if the residual decreases fast.
func (c *Chooser[T]) Choose(a Matrix[T], count int, diagonal, weights, least []float64, rng *rand.Rand) []int {
	n := len(diagonal)
	c.a, c.diagonal, c.least = a, diagonal, least
	c.pivots, c.blocks, c.known, c.rate = c.pivots[:0], c.blocks[:0], 0, 1
	c.bounds, c.sums = append(c.bounds[:0], diagonal...), scratch.Resize(c.sums, n)
	c.rows.Shape(proposals, count)
	for len(c.pivots) < count && !c.stopped() && c.propose(weights, count, rng) {
		c.consider(rng)
		c.filter(min(count-len(c.pivots), blockPivots))
		if len(c.pivots) == count {
			break
		}
		c.extend()
		if c.pays(count) {
			c.settle(count)
		}
	}
	c.a, c.diagonal, c.least = nil, nil, nil
	return c.pivots
}

func (c *Chooser[T]) stopped() bool { return c.Stop != nil && c.Stop() }

// propose draws a block of proposals, or returns false if all bounds are 0.
func (c *Chooser[T]) propose(weights []float64, count int, rng *rand.Rand) bool {
	total := 0.0
	for i, x := range c.bounds {
		if weights != nil {
			x *= weights[i]
		}
		if x > 0 {
			total += x
		}
		c.sums[i] = total
	}
	if !(total > 0) {
		return false
	}
	wanted := min(blockPivots, max(8, (count+3)/4), count-len(c.pivots))
	c.drawn = c.drawn[:0]
	for range min(proposals, max(8, int(math.Ceil(float64(wanted)/c.rate)))) {
		at := rng.Float64() * total
		c.drawn = append(c.drawn, sort.Search(len(c.sums)-1, func(i int) bool { return c.sums[i] > at }))
	}
	return true
}

// consider computes the rows of F for the proposals. consider keeps as candidates the proposals
// with a sufficient residual.
func (c *Chooser[T]) consider(rng *rand.Rand) {
	n, before := len(c.drawn), len(c.pivots)
	c.candidates = c.candidates[:0]
	if before > 0 {
		if c.known < before {
			c.a.Fix(c.pivots[c.known:])
		}
		c.given.Shape(n, before-c.known)
		parallel.Do((n+proposalGrain-1)/proposalGrain, (*proposing[T])(c))
	}
	if c.stopped() {
		return // rows may be incomplete
	}
	rows := c.rows.Rows(n).ColRange(0, before)
	for j, at := range c.drawn {
		left := c.diagonal[at] - 2*vecmath.HalfSquaredNorm(rows.Row(j))
		if least := rng.Float64() * c.bounds[at]; least < left && left > c.least[at] {
			copy(rows.Row(len(c.candidates)), rows.Row(j))
			c.candidates = append(c.candidates, candidatePivot{at: at, order: j + 1, least: least, left: left})
		}
		c.left[j] = left
	}
	// The decisions above need the bounds of the draw, so bounds change only here.
	for j, at := range c.drawn {
		c.bound(at, c.left[j])
	}
}

// filter makes at most limit candidates pivots. filter sets kept to their indices among the
// candidates, and lower to the Cholesky factor of the residual among them.
func (c *Chooser[T]) filter(limit int) {
	n, before, examined := len(c.candidates), len(c.pivots), len(c.drawn)
	c.kept, c.rate = c.kept[:0], 1/float64(examined+1)
	if n == 0 {
		return
	}
	c.drawn = c.drawn[:0]
	for _, x := range c.candidates {
		c.drawn = append(c.drawn, x.at)
	}
	c.a.Fix(c.drawn)
	c.given.Shape(n, n)
	square := c.given.Rows(n)
	c.a.Columns(square, c.drawn)
	if before > 0 {
		rows := c.rows.Rows(n).ColRange(0, before)
		matmul.MulT(-1, rows, rows, 1, square)
	}
	again := 0
	for j, x := range c.candidates {
		k := len(c.kept)
		if k == limit {
			examined = x.order - 1
			break
		}
		if c.bounds[x.at] == 0 { // already a pivot of this block
			again++
			continue
		}
		row, left := c.lower[k*blockPivots:][:k+1], x.left
		for l, from := range c.kept {
			y := c.lower[l*blockPivots:][:l+1]
			row[l] = (float64(square.At(j, from)) - vecmath.Dot(row[:l], y[:l])) / y[l]
			left -= row[l] * row[l]
		}
		if x.least < left && left > c.least[x.at] {
			row[k] = math.Sqrt(left)
			c.kept, left = append(c.kept, j), 0
			c.pivots = append(c.pivots, x.at)
		}
		c.bound(x.at, left)
	}
	c.rate = float64(len(c.kept)+1) / float64(examined-again+1)
}

func (c *Chooser[T]) bound(at int, left float64) {
	if !(left > c.least[at]) {
		left = 0
	}
	c.bounds[at] = min(c.bounds[at], left)
}

type proposing[T dense.Float] Chooser[T]

func (t *proposing[T]) Piece(i int) {
	c := (*Chooser[T])(t)
	if c.stopped() {
		return
	}
	lo, n := i*proposalGrain, len(c.drawn)
	hi := min(lo+proposalGrain, n)
	given, rows := c.given.Rows(n).RowRange(lo, hi), c.rows.Rows(n).RowRange(lo, hi)
	if given.Cols > 0 {
		c.a.Columns(given, c.drawn[lo:hi])
	}
	if c.known > 0 {
		factor := c.factor.Rows(len(c.bounds))
		for j, from := range c.drawn[lo:hi] {
			copy(rows.Row(j)[:c.known], factor.Row(from))
		}
	}
	c.complete(rows, given)
}

// given has the same rows of the columns of A for the other pivots.
func (c *Chooser[T]) complete(rows, given dense.Matrix[T]) {
	for i := range c.blocks {
		b := &c.blocks[i]
		if b.lo < c.known {
			continue
		}
		to := rows.ColRange(b.lo, b.hi)
		matmul.MulPacked(1, given.ColRange(b.lo-c.known, b.hi-c.known), &b.fixed, 0, to, nil)
		if b.lo > 0 {
			matmul.MulPacked(-1, rows.ColRange(0, b.lo), &b.known, 1, to, nil)
		}
	}
}

func (c *Chooser[T]) extend() {
	p := len(c.kept)
	if p == 0 {
		return
	}
	if len(c.blocks) < cap(c.blocks) {
		c.blocks = c.blocks[:len(c.blocks)+1]
	} else {
		c.blocks = append(c.blocks, pivotBlock[T]{})
	}
	b := &c.blocks[len(c.blocks)-1]
	b.lo, b.hi = len(c.pivots)-p, len(c.pivots)
	c.inverse.Shape(p, p)
	inverse := c.inverse.Rows(p)
	c.invert(inverse)
	matmul.Pack(&b.fixed, inverse)
	if b.lo == 0 {
		return
	}
	rows := c.rows.Rows(len(c.candidates)).ColRange(0, b.lo)
	for i, from := range c.kept {
		copy(rows.Row(i), rows.Row(from))
	}
	c.mixed.Shape(b.lo, p)
	mixed := c.mixed.Rows(b.lo)
	matmul.TMul(1, rows.RowRange(0, p), inverse, 0, mixed)
	matmul.Pack(&b.known, mixed)
}

func (c *Chooser[T]) invert(dst dense.Matrix[T]) {
	var column [blockPivots]float64
	for j := range dst.Rows {
		clear(dst.Row(j))
		for i := j; i < dst.Rows; i++ {
			x, sum := c.lower[i*blockPivots:][:i+1], 0.0
			if i == j {
				sum = 1
			}
			column[i] = (sum - vecmath.Dot(x[j:i], column[j:i])) / x[i]
			dst.Row(j)[i] = T(column[i])
		}
	}
}

// pays reports whether settle costs less than the expected rejected proposals.
func (c *Chooser[T]) pays(count int) bool {
	m := len(c.pivots)
	left := float64(count - m)
	rejections := left * (1/c.rate - 1)
	return m > c.known && rejections*c.cost((m+count)/2) >= float64(len(c.bounds))*c.cost(m)
}

// cost returns the multiply-adds for the unknown columns of a row of F with m columns.
func (c *Chooser[T]) cost(m int) float64 {
	return float64(m-c.known) * (elementCost + float64(m+c.known)/2)
}

// settle computes the columns of F for all pivots, and the diagonal of the residual. F has at most
// count columns.
func (c *Chooser[T]) settle(count int) {
	n := len(c.bounds)
	if c.known == 0 {
		c.factor.Shape(n, count)
	}
	for i := len(c.all); i < n; i++ {
		c.all = append(c.all, i)
	}
	c.a.Fix(c.pivots[c.known:])
	parallel.Do((n+rowGrain-1)/rowGrain, (*settling[T])(c))
	c.known, c.rate = len(c.pivots), 1
}

type settling[T dense.Float] Chooser[T]

func (t *settling[T]) Piece(i int) {
	c := (*Chooser[T])(t)
	if c.stopped() {
		return
	}
	n, late := len(c.bounds), len(c.pivots)-c.known
	lo := i * rowGrain
	hi := min(lo+rowGrain, n)
	b := pool.Get[scratch.Buffer[T]](&columns)
	b.Shape(rowGrain, late)
	given, rows := b.Rows(hi-lo), c.factor.Rows(n).RowRange(lo, hi)
	c.a.Columns(given, c.all[lo:hi])
	c.complete(rows, given)
	pool.Put(&columns, b)
	for j := range rows.Rows {
		c.bound(lo+j, c.diagonal[lo+j]-2*vecmath.HalfSquaredNorm(rows.Row(j)[:len(c.pivots)]))
	}
}

var columns pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]
