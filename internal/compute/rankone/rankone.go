// Package rankone updates a rows×columns matrix S token by token: a token multiplies S by a vector,
// adds an outer product to S, and multiplies S by its query, in one pass over the rows of S. The
// columns of S lie in panels of a few vectors of the processor, packed so that a panel fits the
// first cache, and one call takes many tokens through the panel.
//
// For each token a row of S is loaded once and stored once. Meanwhile the row is added to the
// product with the query of the token, and to the product with the vector that the next token
// subtracts. Without decays, four tokens pass a row together if they correct nothing, or if they
// have one head of queries: with S before the four tokens,
//
//	u_j = β_j·(v_j − f_j·(Σ_i c_ji·S_i + Σ_{l<j} (c_j·k_l)·u_l))
//	out_j = s_j·(Σ_i q_ji·S_i + Σ_{l≤j} (q_j·k_l)·u_l)
//
// The next four tokens read the sum S_i ← S_i + Σ_j k_ji·u_j while it is in registers.
package rankone

import (
	"fmt"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// Pass is n tokens that pass an r×w panel S. In ascending order token t computes
//
//	u_t = β_t·(v_t − f_t·Σ_i c_ti·S_i), or β_t·v_t without Corrected
//	S_i ← g_ti·S_i + k_ti·u_t
//	out_th = s_t·Σ_i q_thi·S_i for each head h
//
// where g = 1 without Decays. Without Corrected and Decays, outputs have S_i + older_i in place of
// S_i. The order of a sum over i depends on r alone. An element of an output depends on its column
// and on the tokens up to its own, but not on w and n.
type Pass[T dense.Float] struct {
	S           []T // r×w without gaps. w is a result of Columns
	Older       []T // r×w like S, and is not written. Unused with Corrected or Decays
	Rows, Width int

	K, V      dense.Matrix[T] // n×r, the keys k, and n×w, the values v
	Beta      []T             // n, β
	Corrected dense.Matrix[T] // n×r, c
	Fade      []T             // n, f; used with Corrected
	Decays    dense.Matrix[T] // n×r, g, or n×1 if all rows have the same decay

	// Q and Out belong to the first head. Heads is at least 1. QueryHead and OutHead are the
	// numbers of elements from one head to the next. Out may be V with Corrected, if no other pass
	// needs V.
	Q, Out                    dense.Matrix[T] // n×r, n×w
	Heads, QueryHead, OutHead int
	Scale                     []T // n, s

	added      bool // outputs are added to Out
	first, end int  // the tokens of a call of a kernel
	pairs      []T  // 16 products of the coefficients of four tokens that correct S together

	Space []T // scratch memory. It grows when necessary, and a caller may keep it for other passes
}

// Take allocates only if Space is too short, and panics if another slice is too short.
func (p *Pass[T]) Take() {
	if p.K.Rows == 0 {
		return
	}
	p.check()
	if p.corrects() || p.Rows <= blockRows {
		take(p)
		return
	}
	// Rows are independent, except in sums over rows.
	whole := *p
	for lo := 0; lo < whole.Rows; lo += blockRows {
		hi := min(lo+blockRows, whole.Rows)
		p.S, p.Rows, p.added = whole.S[lo*p.Width:hi*p.Width], hi-lo, lo > 0
		if !p.decays() {
			p.Older = whole.Older[lo*p.Width : hi*p.Width]
		}
		p.K, p.Q.Data = whole.K.ColRange(lo, hi), whole.Q.Data[lo:]
		if p.Decays.Cols > 1 {
			p.Decays = whole.Decays.ColRange(lo, hi)
		}
		take(p)
	}
	*p = whole
}

func (p *Pass[T]) check() {
	n, r, w := p.K.Rows, p.Rows, p.Width
	fits := len(p.S) >= r*w && holds(p.K, n, r, 0) && holds(p.V, n, w, 0) && len(p.Beta) >= n && len(p.Scale) >= n &&
		p.Heads > 0 && holds(p.Q, n, r, (p.Heads-1)*p.QueryHead) && holds(p.Out, n, w, (p.Heads-1)*p.OutHead)
	if p.corrects() {
		fits = fits && len(p.Fade) >= n && holds(p.Corrected, n, r, 0)
	}
	if cols := p.Decays.Cols; p.decays() {
		fits = fits && (cols == 1 || cols == r) && holds(p.Decays, n, cols, 0)
	} else if !p.corrects() {
		fits = fits && len(p.Older) >= r*w
	}
	if !fits {
		panic(fmt.Sprintf("rankone: slices are too short for %d tokens with %d heads of queries and a panel of %d×%d", n, p.Heads, r, w))
	}
}

func holds[T dense.Float](m dense.Matrix[T], n, cols, distance int) bool {
	return cols == 0 || len(m.Data) >= (n-1)*m.Stride+distance+cols
}

func (p *Pass[T]) corrects() bool { return p.Corrected.Rows > 0 }
func (p *Pass[T]) decays() bool   { return p.Decays.Rows > 0 }

// panelBytes is the largest size in bytes of a panel of several vectors: half of the first cache.
var panelBytes = cache.L1 / 2

// blockRows is the number of rows that all tokens pass before the next rows, if tokens do not
// correct. In panels of all widths, blockRows rows of S and Older fit a first cache of 32 KiB.
// blockRows does not follow the size of the cache, because the order of sums depends on it.
const blockRows = 64

// Columns returns the number of columns of a panel with so many rows, if left columns of S remain.
// The last panel may be wider than left, with columns of padding. The number depends on the
// processor, but results do not.
func Columns[T dense.Float](rows, left int, corrects bool) int {
	var x T
	if !corrects {
		rows = min(rows, blockRows)
	}
	lanes, vectors := shape[T]()
	for vectors > 1 && (lanes*vectors/2 >= left || rows*lanes*vectors*int(unsafe.Sizeof(x)) > panelBytes) {
		vectors /= 2
	}
	return lanes * vectors
}
