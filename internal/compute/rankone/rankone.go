// Package rankone takes tokens through sums S that stay in the first cache: each token reads S,
// writes an outer product into it and reads it again, in one pass over the rows.
//
// S is dense, rows×columns, and its columns do not meet: they go in panels of a few vectors of the
// processor. A panel is packed, so that all of its rows fit the first cache, and goes through many
// tokens in one call. While token t passes a row, the row of S is loaded once, written once, and
// meanwhile read by the query of t and by what the next token corrects. Tokens that correct nothing
// and decay all rows alike pass a row four by four. So do tokens that correct and decay all rows
// alike, for one head of queries: with S before four tokens,
//
//	u_j = β_j·(v_j − f_j·(G_0j·Σ_i c_ji·S_i + Σ_{l<j} G_{l+1,j}·(c_j·k_l)·u_l))
//	out_j = s_j·(G_{0,j+1}·Σ_i q_ji·S_i + Σ_{l≤j} G_{l+1,j+1}·(q_j·k_l)·u_l)
//
// with G_ab = g_a·…·g_{b−1}, and S_i ← G_04·S_i + Σ_j k_ji·G_{j+1,4}·u_j is read by the next four
// on the way. Where a decay of a pass is above 256, or NaN, tokens go one by one, because G might
// overflow.
package rankone

import (
	"fmt"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// Pass is n tokens that go through a panel S with r = Rows rows and w = Width columns. In ascending
// order token t makes
//
//	u_t = β_t·(v_t − f_t·Σ_i c_ti·S_i), or β_t·v_t without Corrected
//	S_i ← g_ti·S_i + k_ti·u_t
//	out_th = s_t·Σ_i q_thi·S_i for each head h
//
// where g = 1 without Decays. With neither Corrected nor Decays, outputs read S_i + older_i in
// place of S_i. Sums over i are taken in an order that depends on r: an element of the results
// depends on its column alone, not on w, and on the tokens up to its own, not on n.
type Pass[T dense.Float] struct {
	S           []T // r×w without gaps. w is a result of Columns
	Older       []T // like S: older, which is read only. Unused with Corrected or Decays
	Rows, Width int

	K, V      dense.Matrix[T] // n×r, the keys k, and n×w, the values v
	Beta      []T             // n, β
	Corrected dense.Matrix[T] // n×r, c
	Fade      []T             // n, f; used with Corrected
	Decays    dense.Matrix[T] // n×r, g, or n×1 for the same in all rows

	// Of the first head; Heads is at least 1, and QueryHead and OutHead are the numbers of elements
	// from one head to the next. Out may be V if there is Corrected, and no other pass needs V.
	Q, Out                    dense.Matrix[T] // n×r, n×w
	Heads, QueryHead, OutHead int
	Scale                     []T // n, s

	added      bool // outputs are added to what Out holds
	first, end int  // the tokens of kernels for one or four tokens at a time
	// For each four tokens that correct together 16 products and, with a decay, 8 factors.
	pairs, fades []T

	Space []T // memory, which grows as it is needed and may be kept from pass to pass
}

// Take takes the tokens. It allocates nothing if Space has grown, and panics if a slice is too
// short for the shapes.
func (p *Pass[T]) Take() {
	if p.K.Rows == 0 {
		return
	}
	p.check()
	if p.corrects() || p.Rows <= blockRows {
		take(p)
		return
	}
	// Rows are independent but for the sums over them.
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

// holds reports whether m has n rows of so many elements a distance after their beginnings.
func holds[T dense.Float](m dense.Matrix[T], n, cols, distance int) bool {
	return cols == 0 || len(m.Data) >= (n-1)*m.Stride+distance+cols
}

func (p *Pass[T]) corrects() bool { return p.Corrected.Rows > 0 }
func (p *Pass[T]) decays() bool   { return p.Decays.Rows > 0 }

// panelBytes is the largest size of a panel of several vectors: half of the first cache.
var panelBytes = cache.L1 / 2

// blockRows is the number of rows that all tokens go through before the next rows, where tokens do
// not correct. In panels of all widths S and Older fit first caches of 32 KiB. The order of sums
// depends on blockRows, which therefore follows no cache.
const blockRows = 64

// Columns returns the number of columns of a panel with so many rows, where this many columns of S
// are left, for tokens with or without Corrected. The last panel may be wider than what is left:
// its other columns are padding. The number depends on the processor; results do not.
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
