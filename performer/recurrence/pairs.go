package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Pairs of tokens of a chunk have the products M of keys with keys and P of queries with keys,
//
//	M_ij = Σ_c k_ic·e^(b_ic − b_jc)·k_jc,  P_ij = Σ_c q_ic·e^(b_ic − b_jc)·k_jc,  j ≤ i,
//
// with zeros for j > i. If b is the same for all c, M and P are products of matrices times Γ,
// element by element.
//
// Otherwise the factor is split at a token r with j ≤ r ≤ i. Unless a decay is positive neither
// e^(b_i − b_r) nor e^(b_r − b_j) exceeds 1, whereas e^(−b_j) alone would overflow. Level h divides
// the chunk into blocks of h tokens and pairs neighbouring blocks, with r the last of the left.
// Every pair of tokens is in a pair of blocks at exactly one level. The factors of a level are the
// factors of the level below times decays of whole blocks.

// firstPaired returns the first block of the stack that is paired with keys: 0, the keys, if M is
// needed, and 1, the queries of the first head, otherwise.
func (l *scan[T]) firstPaired() int {
	if l.r.opts.Rule.corrects() {
		return 0
	}
	return 1
}

// pair returns M for s = 0, and P of head s − 1 otherwise.
func (l *scan[T]) pair(s, n int) dense.Matrix[T] { return rowsOf(&l.pairs, s, n).ColRange(0, n) }

// computePairs computes all P, and M if it is needed. Afterwards decays hold the factors of the
// whole chunk.
func (l *scan[T]) computePairs(n int) {
	if l.decays.width > 1 {
		l.pairsByLevel(n)
		return
	}
	matmul.PackT(&l.packK, rowsOf(&l.stack, 0, n))
	for s := l.firstPaired(); s <= l.group; s++ {
		p := l.pair(s, n)
		matmul.MulPacked(1, rowsOf(&l.stack, s, n), &l.packK, 0, p, nil)
		l.multiplyGamma(p)
	}
}

// multiplyGamma multiplies p by Γ and sets p_ij to zero for j > i.
func (l *scan[T]) multiplyGamma(p dense.Matrix[T]) {
	for i := range p.Rows {
		row := p.Row(i)
		if l.decays.width == 1 {
			vecmath.Multiply(row[:i+1], l.decays.gamma.Rows(i+1).Row(i))
		}
		clear(row[i+1:])
	}
}

// few is the largest number of tokens of a block whose pairs are inner products.
const few = 2

func (l *scan[T]) pairsByLevel(n int) {
	first := l.firstPaired()
	keys := rowsOf(&l.stack, 0, n)
	for s := first; s <= l.group; s++ {
		x, p := rowsOf(&l.stack, s, n), l.pair(s, n)
		for i := range n {
			row := p.Row(i)
			row[i] = vecmath.Dot(x.Row(i), keys.Row(i))
			clear(row[i+1:])
		}
	}
	for half := 1; half < n; half *= 2 {
		l.weighLevel(half, n)
		if half > few {
			l.blocksOfLevel(half, n)
		} else {
			l.dotsOfLevel(half, n)
		}
		l.decays.merge(half, n)
	}
}

func (l *scan[T]) blocksOfLevel(half, n int) {
	keys := rowsOf(&l.weighted, 0, n)
	for lo := 0; lo+half < n; lo += 2 * half {
		mid, hi := lo+half, min(lo+2*half, n)
		matmul.PackT(&l.packK, keys.RowRange(lo, mid))
		for s := l.firstPaired(); s <= l.group; s++ {
			p := l.pair(s, n).RowRange(mid, hi).ColRange(lo, mid)
			matmul.MulPacked(1, rowsOf(&l.weighted, s, n).RowRange(mid, hi), &l.packK, 0, p, nil)
		}
	}
}

func (l *scan[T]) dotsOfLevel(half, n int) {
	keys := rowsOf(&l.weighted, 0, n)
	for s := l.firstPaired(); s <= l.group; s++ {
		x, p := rowsOf(&l.weighted, s, n), l.pair(s, n)
		for i := half; i < n; i++ {
			lo := i/half*half - half
			if i/half%2 == 0 {
				continue
			}
			query, to := x.Row(i), p.Row(i)[lo:lo+half]
			for j := range to {
				to[j] = vecmath.Dot(query, keys.Row(lo+j))
			}
		}
	}
}

// weighLevel sets weighted to the stack times the factors of a level: the left blocks of keys, and
// the right blocks of everything that is paired with keys.
func (l *scan[T]) weighLevel(half, n int) {
	first := l.firstPaired()
	for s := 0; s <= l.group; s++ {
		x, weighted := rowsOf(&l.stack, s, n), rowsOf(&l.weighted, s, n)
		for i := range n {
			if right := i/half%2 == 1; right && s < first || !right && s > 0 {
				continue
			}
			to := weighted.Row(i)
			copy(to, x.Row(i))
			vecmath.Multiply(to, l.decays.factor(i, half))
		}
	}
}

// backwardPairs adds the gradients through M and P to the gradients of keys and queries. upward has
// the gradients of the left factors q_i and k_i, which have e^b_i. Block 0 of gradient.stack has
// the gradients of the right factors k_j, which have e^−b_j.
func (l *scan[T]) backwardPairs(n int) {
	first, v := l.firstPaired(), &l.gradient
	keys, down := rowsOf(&l.stack, 0, n), rowsOf(&v.stack, 0, n)
	if l.decays.width > 1 {
		for s := first; s <= l.group; s++ {
			g, x, to := l.pairGradient(s, n), rowsOf(&l.stack, s, n), l.upward(s, n)
			for i := range n {
				vecmath.AddScaled(to.Row(i), keys.Row(i), g.Row(i)[i])
				vecmath.AddScaled(down.Row(i), x.Row(i), g.Row(i)[i])
			}
		}
		l.decays.split(n)
		for half := 1; half < n; half *= 2 {
			l.weighLevel(half, n)
			l.backwardLevel(half, n)
			l.decays.merge(half, n)
		}
		return
	}
	for s := first; s <= l.group; s++ {
		g := l.pairGradient(s, n)
		l.multiplyGamma(g)
		matmul.Mul(1, g, keys, 1, l.upward(s, n))
		matmul.TMul(1, g, rowsOf(&l.stack, s, n), 1, down)
	}
}

// upward returns the gradient through e^b∘keys for s = 0, and of queries of head s − 1 otherwise.
func (l *scan[T]) upward(s, n int) dense.Matrix[T] {
	if s == 0 {
		return l.gradient.up.Rows(n)
	}
	return rowsOf(&l.gradient.stack, s, n)
}

// backwardLevel is backwardPairs for the pairs of a level. In gradient.level, rows of right blocks
// are gradients of keys or queries; rows of left blocks, in block 0, are gradients of the keys with
// which the right blocks are paired.
func (l *scan[T]) backwardLevel(half, n int) {
	first, v := l.firstPaired(), &l.gradient
	keys, left := rowsOf(&l.weighted, 0, n), rowsOf(&v.level, 0, n)
	clear(v.level.Rows(l.group*chunkRows + n).Data)
	for lo := 0; lo+half < n; lo += 2 * half {
		mid, hi := lo+half, min(lo+2*half, n)
		for s := first; s <= l.group; s++ {
			g, x, right := l.pairGradient(s, n), rowsOf(&l.weighted, s, n), rowsOf(&v.level, s, n)
			if half > few {
				block := g.RowRange(mid, hi).ColRange(lo, mid)
				matmul.Mul(1, block, keys.RowRange(lo, mid), 0, right.RowRange(mid, hi))
				matmul.TMul(1, block, x.RowRange(mid, hi), 1, left.RowRange(lo, mid))
				continue
			}
			for i := mid; i < hi; i++ {
				for j := lo; j < mid; j++ {
					vecmath.AddScaled(right.Row(i), keys.Row(j), g.Row(i)[j])
					vecmath.AddScaled(left.Row(j), x.Row(i), g.Row(i)[j])
				}
			}
		}
	}
	down := rowsOf(&v.stack, 0, n)
	for i := range n {
		factor := l.decays.factor(i, half)
		if i/half%2 == 0 {
			vecmath.Multiply(left.Row(i), factor)
			vecmath.AddScaled(down.Row(i), left.Row(i), 1)
			continue
		}
		for s := first; s <= l.group; s++ {
			right := rowsOf(&v.level, s, n).Row(i)
			vecmath.Multiply(right, factor)
			vecmath.AddScaled(l.upward(s, n).Row(i), right, 1)
		}
	}
}
