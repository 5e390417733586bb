// Package pivot chooses columns of a positive semi-definite matrix by randomly pivoted Cholesky
// factorisation.
//
// With the pivots P so far, the residual of the n×n matrix A is A − A_:P·A_PP⁻¹·A_P:. The next
// pivot is drawn with a probability proportional to the diagonal of the residual, so that the error
// of the low-rank approximation falls almost as fast as the error of the best one of that rank
// [Chen, Epperly, Tropp & Webber 2023].
//
// Pivots come in blocks. A block of proposals is drawn at once, and each proposal is kept with the
// probability that the proposals kept before it leave of it. The pivots have the law of pivots
// drawn one by one, and the work is in matrix products [Epperly, Tropp & Webber 2024].
//
// # References
//
//   - [Chen, Epperly, Tropp & Webber 2023] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber: Randomly
//     pivoted Cholesky: practical approximation of a kernel matrix with few entry evaluations.
//     Communications on Pure and Applied Mathematics 78.
//   - [Epperly, Tropp & Webber 2024] E. N. Epperly, J. A. Tropp, R. J. Webber: Embrace rejection:
//     kernel matrix approximation by accelerated randomly pivoted Cholesky. arXiv:2410.03969.
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
	proposals = 64  // the most proposals of a block
	rowGrain  = 128 // rows that are worth another processor
)

// Matrix is a symmetric positive semi-definite matrix A, which is given a few columns at a time.
type Matrix[T dense.Float] interface {
	// Fix makes the columns with the given numbers the fixed columns.
	Fix(at []int)

	// Columns writes the rows lo ≤ i < hi of the fixed columns into dst. Several goroutines call
	// Columns at a time.
	Columns(dst dense.Matrix[T], lo, hi int)

	// Square writes the fixed columns, in the rows with the same numbers, into dst.
	Square(dst dense.Matrix[T])
}

// Chooser chooses pivots. It keeps memory between calls, n×r elements for r pivots of n, and
// belongs to one goroutine. The zero value is ready for use.
type Chooser[T dense.Float] struct {
	// Stop, unless it is nil, is called before each block of proposals. Where it returns true, Choose
	// returns the pivots that it has.
	Stop func() bool

	a       Matrix[T]
	factor  scratch.Buffer[T] // n×r: A ≈ F·Fᵀ
	rest    []float64         // the diagonal of A − F·Fᵀ
	least   []float64         // elements of rest up to least are rounding
	sums    []float64         // cumulative, of weights times rest
	pivots  []int
	drawn   []int
	square  scratch.Buffer[T] // proposals×proposals
	rows    scratch.Buffer[T] // proposals×r, rows of F
	inverse scratch.Buffer[T] // R = L⁻ᵀ for the Cholesky factor L of the residual among a block
	mixed   scratch.Buffer[T] // r×proposals
	kept    []int
	lower   []float64

	fixed, known matmul.Packed[T] // R, and F_Bᵀ·R for the rows F_B of the block
}

// Choose returns at most count different pivots of A, in the order in which they were drawn. Each
// is drawn with a probability proportional to weights times the diagonal of the residual; nil
// weights are 1. That is randomly pivoted Cholesky on D·A·D, with the squares of the diagonal of D
// for weights.
//
// diagonal holds the diagonal of A, least the elements of the residual that may be rounding. Choose
// stops early when no residual with a positive weight exceeds them. Weights that are negative or
// NaN count as zero. The result is valid until the next call. Choose takes O(n·r·(c+r)) time for r
// pivots, where c is the time for an element of A, and gives the same pivots whatever GOMAXPROCS
// is.
func (c *Chooser[T]) Choose(a Matrix[T], count int, diagonal, weights, least []float64, rng *rand.Rand) []int {
	n := len(diagonal)
	c.a, c.least, c.pivots = a, least, c.pivots[:0]
	c.rest, c.sums = append(c.rest[:0], diagonal...), scratch.Resize(c.sums, n)
	c.factor.Shape(n, count)
	c.rows.Shape(proposals, count)
	c.mixed.Shape(count, proposals)
	c.square.Shape(proposals, proposals)
	c.inverse.Shape(proposals, proposals)
	for len(c.pivots) < count && (c.Stop == nil || !c.Stop()) && c.propose(weights, count, rng) {
		c.drawn = c.filter(c.drawn, count-len(c.pivots), rng)
		if len(c.drawn) > 0 {
			c.extend()
		}
	}
	c.a = nil
	return c.pivots
}

// Residual returns the diagonal of the residual after the last Choose. Elements that are rounding
// are zero. The result is valid until the next Choose.
func (c *Chooser[T]) Residual() []float64 { return c.rest }

// propose draws a block of proposals. It returns false if nothing is left.
func (c *Chooser[T]) propose(weights []float64, count int, rng *rand.Rand) bool {
	total := 0.0
	for i, x := range c.rest {
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
	c.drawn = c.drawn[:0]
	for range min(proposals, max(8, (count+3)/4)) {
		at := rng.Float64() * total
		c.drawn = append(c.drawn, sort.Search(len(c.sums)-1, func(i int) bool { return c.sums[i] > at }))
	}
	return true
}

// filter returns the proposals that become pivots, at most limit, and sets lower to the Cholesky
// factor of the residual among them.
func (c *Chooser[T]) filter(drawn []int, limit int, rng *rand.Rand) []int {
	n, before := len(drawn), len(c.pivots)
	c.a.Fix(drawn)
	square := c.square.Rows(n).ColRange(0, n)
	c.a.Square(square)
	if before > 0 {
		rows := c.gather(drawn)
		matmul.MulT(-1, rows, rows, 1, square)
	}
	h := scratch.Resize(c.lower, proposals*proposals)
	c.lower, c.kept = h, c.kept[:0]
	for i := range n {
		for j, v := range square.Row(i)[:i+1] {
			h[i*n+j] = float64(v)
		}
	}
	for j := range n {
		left := h[j*n+j]
		if u := rng.Float64(); !(u*c.rest[drawn[j]] < left && left > c.least[drawn[j]]) {
			continue
		}
		root := math.Sqrt(left)
		h[j*n+j] = root
		for i := j + 1; i < n; i++ {
			h[i*n+j] /= root
		}
		for i := j + 1; i < n; i++ {
			x := h[i*n+j]
			for l := j + 1; l <= i; l++ {
				h[i*n+l] -= x * h[l*n+j]
			}
		}
		if c.kept = append(c.kept, j); len(c.kept) == limit {
			break
		}
	}
	if len(c.kept) == 0 {
		// The first proposal has nothing left but for rounding, or had bad luck. Without it the
		// next block is another one.
		c.rest[drawn[0]] = 0
	}
	for i, from := range c.kept {
		for j, column := range c.kept[:i+1] {
			h[i*n+j] = h[from*n+column]
		}
		drawn[i] = drawn[from]
	}
	c.invert(n, len(c.kept))
	return drawn[:len(c.kept)]
}

// gather returns the rows of F with the given numbers.
func (c *Chooser[T]) gather(at []int) dense.Matrix[T] {
	before := len(c.pivots)
	rows, factor := c.rows.Rows(len(at)).ColRange(0, before), c.factor.Rows(len(c.rest))
	for i, from := range at {
		copy(rows.Row(i), factor.Row(from))
	}
	return rows
}

// invert sets inverse to L⁻ᵀ for the triangle L of the given order in lower.
func (c *Chooser[T]) invert(stride, order int) {
	h := c.lower
	inverse := c.inverse.Rows(order).ColRange(0, order)
	var column [proposals]float64
	for j := range order {
		clear(inverse.Row(j))
		for i := j; i < order; i++ {
			sum := 0.0
			if i == j {
				sum = 1
			}
			for l := j; l < i; l++ {
				sum -= h[i*stride+l] * column[l]
			}
			column[i] = sum / h[i*stride+i]
			inverse.Row(j)[i] = T(column[i])
		}
	}
}

// extend appends the columns of F for the block drawn, and updates the diagonal of the residual:
//
//	F_new = (A_:B − F·F_Bᵀ)·L⁻ᵀ.
func (c *Chooser[T]) extend() {
	before, p := len(c.pivots), len(c.drawn)
	c.a.Fix(c.drawn)
	inverse := c.inverse.Rows(p).ColRange(0, p)
	matmul.Pack(&c.fixed, inverse)
	if before > 0 {
		mixed := c.mixed.Rows(before).ColRange(0, p)
		matmul.TMul(1, c.gather(c.drawn), inverse, 0, mixed)
		matmul.Pack(&c.known, mixed)
	}
	parallel.Do((len(c.rest)+rowGrain-1)/rowGrain, (*extending[T])(c))
	for _, i := range c.drawn {
		c.rest[i] = 0
	}
	c.pivots = append(c.pivots, c.drawn...)
}

// extending is the task of extending F, rowGrain rows a piece.
type extending[T dense.Float] Chooser[T]

func (c *extending[T]) Piece(i int) {
	lo := i * rowGrain
	hi := min(lo+rowGrain, len(c.rest))
	before, p := len(c.pivots), len(c.drawn)
	b := pool.Get[scratch.Buffer[T]](&columns)
	b.Shape(rowGrain, proposals)
	given := b.Rows(hi-lo).ColRange(0, p)
	c.a.Columns(given, lo, hi)
	factor := c.factor.Rows(len(c.rest)).RowRange(lo, hi)
	to := factor.ColRange(before, before+p)
	matmul.MulPacked(1, given, &c.fixed, 0, to, nil)
	if before > 0 {
		matmul.MulPacked(-1, factor.ColRange(0, before), &c.known, 1, to, nil)
	}
	pool.Put(&columns, b)
	for i := range to.Rows {
		rest := c.rest[lo+i] - 2*vecmath.HalfSquaredNorm(to.Row(i))
		if rest <= c.least[lo+i] {
			rest = 0
		}
		c.rest[lo+i] = rest
	}
}

var columns pool.Both[scratch.Buffer[float32], scratch.Buffer[float64]]
