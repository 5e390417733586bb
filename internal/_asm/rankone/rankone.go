// Package rankone writes the kernels of package rankone. Kernels that take one token at a time, and
// kernels for tokens that correct nothing, are written once for both architectures. Files that
// begin with avx and neon hold the rest.
package rankone

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/compute/rankone"
)

// A method of machine takes an address as rows of tokens, as rowsFrom returns them, and the number
// j of a token. A slice with one address is the row of token 0.
type machine[V, G, L any] interface {
	kernel.Machine[V, G]
	// open sets the address of the pass to the argument p, and frees all accumulators.
	open()
	// accumulators returns n registers that no other register of the function shares.
	accumulators(n int) []V
	clear(v V)

	// counter returns a register with 0.
	counter() G
	// next increments t, and jumps to the label if t is below a field of the pass.
	next(t G, field, label string)
	// following returns t + 1, or t if t + 1 is a field of the pass.
	following(t G, field string) G
	// unlessAdded jumps to the label unless field added of the pass is true.
	unlessAdded(label string)

	// load returns a number of the pass, or the address of the elements of a slice.
	load(field string) G
	// distance returns the bytes from one slice of the pass to another.
	distance(from, to string) G
	row(matrix string, t G) G
	skip(p, elements G)
	// reusable returns an address that a later loop can use after a loop has used p.
	reusable(p G) G

	loadAll(into []V, r []G, j, offset int)
	// loadScaled sets into to vectors times a number.
	loadScaled(into []V, r []G, j int, by number[V])
	// loadBehind loads vectors at a distance behind the row.
	loadBehind(into []V, row, distance G)
	addAll(into []V, r []G, j int)
	storeAll(v []V, r []G, j, offset int)
	// element returns the number at an offset in bytes.
	element(r []G, j, offset int) number[V]

	scale(v []V, by number[V])
	// addScaled sets into = into + v·by, and subScaled into − v·by.
	addScaled(into, v []V, by number[V])
	subScaled(into, v []V, by number[V])
	// addRow is addScaled for vectors in memory.
	addRow(into []V, row G, offset int, by number[V])

	// decaysOf returns a walk along the decays of token t.
	decaysOf(t G) decays[G]
	// decayed sets into to the vectors at row + offset times the decay of row odd of a pair.
	decayed(into []V, row G, offset, odd int, d decays[G])
	// rows writes a loop over the rows of S in pairs. Its labels end in id. Function of
	// returns the coefficient of a row among the coefficients whose address is c. With a token, the
	// loop brings rows of a later token into the first cache.
	rows(id, vectors int, coefficients []G, d *decays[G], token *G, body func(odd int, row G, of func(c int) number[V]))

	// local returns a variable. On amd64 it is in memory.
	local() L
	reset(l L)
	set(l L, value G)
	get(l L) G
	// plus adds a variable to p, and increase adds n to a variable.
	plus(p G, l L)
	increase(l L, n G)
	// until adds n to a variable, and jumps to the label if the sum is below a limit.
	until(label string, l L, n int, limit G)
	ifOne(l L, label string)
	repeat(label string, l L)

	// rowsFrom returns the rows of tokens of a matrix. first is the row of the first token.
	rowsFrom(first G, matrix string, tokens int) []G
	advance(r []G, bytes int)
	// prefetch brings bytes of the row of token j of the next four tokens into the first cache,
	// where the processor does not do so by itself.
	prefetch(r []G, j, bytes int)
	// byTwo writes a loop over left rows: pair takes two rows, and one takes a last row.
	byTwo(left G, suffix string, pair, one func())
}

// number is a number that multiplies vectors: a lane of v on arm64, all lanes on amd64.
type number[V any] struct {
	v    V
	lane int
}

// decays are the address of a decay and the bytes to the next, 0 if all rows have the same decay.
type decays[G any] struct{ at, step G }

// offset returns the place of a field of a pass, or of the address of a slice.
func offset(path string) int {
	at, kind := uintptr(0), reflect.TypeFor[rankone.Pass[float64]]()
	for name := range strings.SplitSeq(path, ".") {
		field, ok := kind.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("rankone: no field %s", path))
		}
		at, kind = at+field.Offset, field.Type
	}
	return int(at)
}

// single is a kernel of one token at a time, with a decay for each row, for panels of so many
// vectors.
type single[V, G, L any] struct {
	machine[V, G, L]
	vectors  int
	corrects bool

	u         []V        // the token adds k_i·u to row i of S
	corrected rowSums[V] // S times the coefficients that the next token corrects
	answers   rowSums[V] // S times the query of the token

	t     G
	loops int
}

// write writes the kernels of a machine. Kernels that take several tokens have up to most vectors.
func write[V, G, L any](m machine[V, G, L], most int) {
	for vectors := 1; vectors <= 2; vectors++ {
		for i, name := range []string{"decay", "decayCorrect"} {
			k := single[V, G, L]{machine: m, vectors: vectors, corrects: i == 1}
			k.write(fmt.Sprintf("%s%d", name, vectors))
		}
	}
	for _, tokens := range []int{4, 1} {
		for vectors := 1; vectors <= most; vectors *= 2 {
			k := several[V, G, L]{machine: m, vectors: vectors, tokens: tokens}
			k.write()
		}
	}
}

// write writes a kernel. A token begins with the sums that it corrects, and ends with the sums that
// the next token corrects.
func (k *single[V, G, L]) write(name string) {
	k.Begin(name, "(p *Pass[T])", fmt.Sprintf("takes tokens through a panel of %d columns.", k.vectors*k.Lanes()))
	k.open()
	k.u, k.corrected, k.answers = k.accumulators(k.vectors), k.sums(), k.sums()
	k.t = k.counter()
	if k.corrects {
		k.clearSums(k.corrected)
		k.read(k.row("Corrected", k.t), k.corrected)
	}

	k.Label("token")
	k.written()
	k.advanceRows()
	k.answer(k.row("Out", k.t))
	heads := k.load("Heads")
	k.CountDown(heads, "next")
	q, out := k.row("Q", k.t), k.row("Out", k.t)
	k.Label("head")
	k.skip(q, k.load("QueryHead"))
	k.skip(out, k.load("OutHead"))
	k.clearSums(k.answers)
	k.read(k.reusable(q), k.answers)
	k.answer(out)
	k.Repeat("head", heads)
	k.Label("next")
	k.next(k.t, "K.Rows", "token")
	k.End()
}

// rowSums are sums over the even rows and over the odd rows.
type rowSums[V any] [2][]V

func (k *single[V, G, L]) sums() rowSums[V] {
	return rowSums[V]{k.accumulators(k.vectors), k.accumulators(k.vectors)}
}

func (k *single[V, G, L]) clearSums(s rowSums[V]) {
	for _, half := range s {
		for _, v := range half {
			k.clear(v)
		}
	}
}

// total adds the sum over the odd rows to the sum over the even rows.
func (k *single[V, G, L]) total(s rowSums[V]) []V { return kernel.Each(k.Add, s[0], s[1], s[0]) }

func (k *single[V, G, L]) number(slice string) number[V] {
	at := k.load(slice)
	k.skip(at, k.t)
	return k.element([]G{at}, 0, 0)
}

// written sets u = β·(v − f·Σ_i c_i·S_i).
func (k *single[V, G, L]) written() {
	k.loadAll(k.u, []G{k.row("V", k.t)}, 0, 0)
	if k.corrects {
		k.subScaled(k.u, k.total(k.corrected), k.number("Fade"))
	}
	k.scale(k.u, k.number("Beta"))
}

func (k *single[V, G, L]) loop(coefficients []G, d *decays[G], token *G, body func(odd int, row G, of func(c int) number[V])) {
	k.rows(k.loops, k.vectors, coefficients, d, token, body)
	k.loops++
}

// read adds c_i·S_i to the sums for all rows i. The coefficients c are at an address.
func (k *single[V, G, L]) read(c G, sum rowSums[V]) {
	k.loop([]G{c}, nil, nil, func(odd int, row G, of func(c int) number[V]) {
		k.addRow(sum[odd], row, odd*k.vectors*k.Width(), of(0))
	})
}

// advanceRows sets S_i = g_i·S_i + k_i·u for all rows i, and sums S times the query of the token
// and S times the coefficients that the next token corrects.
func (k *single[V, G, L]) advanceRows() {
	coefficients := []G{k.row("K", k.t), k.row("Q", k.t)}
	if k.corrects {
		// The last token has no next token: the sums of any row will do.
		coefficients = append(coefficients, k.row("Corrected", k.following(k.t, "K.Rows")))
		k.clearSums(k.corrected)
	}
	d := k.decaysOf(k.t)
	k.clearSums(k.answers)
	k.loop(coefficients, &d, &k.t, func(odd int, row G, of func(c int) number[V]) {
		at := odd * k.vectors * k.Width()
		s := k.Vecs(k.vectors)
		k.decayed(s, row, at, odd, d)
		k.addScaled(s, k.u, of(0))
		k.storeAll(s, []G{row}, 0, at)
		k.addScaled(k.answers[odd], s, of(1))
		if k.corrects {
			k.addScaled(k.corrected[odd], s, of(2))
		}
	})
}

func (k *single[V, G, L]) answer(to G) {
	scale, answer := k.number("Scale"), k.total(k.answers)
	k.scale(answer, scale)
	if !k.corrects {
		write := fmt.Sprintf("write%d", k.loops)
		k.unlessAdded(write)
		k.addAll(answer, []G{to}, 0)
		k.Label(write)
	}
	k.storeAll(answer, []G{to}, 0, 0)
}
