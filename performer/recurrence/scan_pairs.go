package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Pairs of tokens of a chunk meet in M, of keys with keys, and P, of queries with keys,
//
//	M_ij = Σ_c k_ic·e^(b_ic − b_jc)·k_jc,  P_ij = Σ_c q_ic·e^(b_ic − b_jc)·k_jc,  j ≤ i,
//
// with zeros for j > i. Where b is one number for all c, that is a product of matrices,
// element by element times Γ.
//
// Where it is not, the factor is split at a token r between them, j ≤ r ≤ i: neither e^(b_i −
// b_r) nor e^(b_r − b_j) exceeds 1 unless a decay is positive, whereas e^(−b_j) alone would
// overflow. Tokens are halved again and again: at the level h blocks of h tokens stand
// side by side in pairs, those of the right one take r as the last of the left one, and
// so do those of the left one. Each pair of tokens is in such a pair of blocks at exactly one
// level, and the factors of a level are those of the one below times what lies between.

// firstPaired returns the first rows of the stack that are paired with keys: 0, the keys, if M is
// wanted, and 1, the queries of the first head, otherwise.
func (l *scan[T]) firstPaired() int {
	if l.r.opts.Rule.corrects() {
		return 0
	}
	return 1
}

// pair returns M, s = 0, or P of head s − 1.
func (l *scan[T]) pair(s, n int) dense.Matrix[T] { return rowsOf(&l.pairs, s, n).ColRange(0, n) }

// allPairs makes M, if it is wanted, and all P. After it the decays are those of the chunk.
func (l *scan[T]) allPairs(n int) {
	if l.decays.width > 1 {
		l.pairsByLevel(n)
		return
	}
	matmul.PackT(&l.packK, rowsOf(&l.stack, 0, n))
	for s := l.firstPaired(); s <= l.group; s++ {
		p := l.pair(s, n)
		matmul.MulPacked(1, rowsOf(&l.stack, s, n), &l.packK, 0, p, nil)
		l.decay(p)
	}
}

// decay multiplies p by Γ, with zeros beyond the diagonal.
func (l *scan[T]) decay(p dense.Matrix[T]) {
	for i := range p.Rows {
		row := p.Row(i)
		if l.decays.width == 1 {
			vecmath.Multiply(row[:i+1], l.decays.gamma.Rows(i+1).Row(i))
		}
		clear(row[i+1:])
	}
}

// few is the number of tokens of a block up to which its pairs are inner products.
const few = 2

// pairsByLevel is allPairs for decays of their own for each c.
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
		l.level(half, n)
		if half > few {
			l.blocksOfLevel(half, n)
		} else {
			l.dotsOfLevel(half, n)
		}
		l.decays.merge(half, n)
	}
}

// blocksOfLevel makes the pairs of a level as products of matrices.
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

// dotsOfLevel makes the pairs of a level as inner products.
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

// level makes the stack times the factors of a level: left blocks of keys, and right blocks
// of all that meets them.
func (l *scan[T]) level(half, n int) {
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
