package rankone

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// group is the number of tokens that correct together.
const group = 4

// together is a kernel of tokens that correct and have no decays, in groups of four, for so many
// vectors of the columns of a panel at a time. A token of a group reads S before the group, and
// adds to that the products of its coefficients with the keys of the tokens before it in the group,
// which [avx.pairs] has computed. So a row of S is loaded and stored once for four tokens, and the
// next four tokens read it on the way.
type together struct {
	*avx
	vectors int
	u       [][]Op // by the token
	// by the token: coefficients and queries times S before the group
	corrected, answers [][]Op
	// bytes of a row of the panel; the first column; the first token
	step, column, t          Mem
	keys, readers, corrector []Register
}

func (m *avx) together() {
	for vectors := 1; vectors <= 2; vectors++ {
		k := together{avx: m, vectors: vectors}
		k.write()
	}
	m.pairs()
}

func (k *together) write() {
	k.Begin(fmt.Sprintf("correct%dBy%d", k.vectors, group), "(p *Pass[T])",
		fmt.Sprintf("takes the tokens p.first ≤ t < p.end, %d at a time, through %d columns at a time.", group, k.vectors*k.Lanes()))
	k.step, k.column, k.t = k.local(), k.local(), k.local()
	k.open()
	for range group {
		for _, to := range []*[][]Op{&k.u, &k.corrected, &k.answers} {
			*to = append(*to, k.accumulators(k.vectors))
		}
	}
	step := k.load("Width")
	k.InBytes(step)
	k.set(k.step, step)
	k.reset(k.column)
	Label("columns")
	k.pass = amd64.Argument("p")
	k.set(k.t, k.load("first"))
	k.start()
	k.loop("Read", func(row []Register, odd int) { k.read(k.loaded(row), odd) }, k.corrector, k.readers)
	Label("tokens")
	k.pass = amd64.Argument("p")
	k.correct()
	k.keys = k.tokensOf("K")
	t := k.get(k.t)
	ADDQ(I8(group), t)
	k.set(k.t, t)
	CMPQ(t, k.field("end"))
	JGE(LabelRef("last"))
	k.start()
	k.loop("Both", func(row []Register, odd int) {
		for _, r := range [][]Register{k.corrector, k.readers} {
			k.prefetch(r, 2*odd, 1)
			k.prefetch(r, 2*odd+1, 1)
		}
		k.read(k.written(row, odd), odd)
	}, k.keys, k.corrector, k.readers)
	k.Jump("tokens")
	Label("last")
	k.loop("Write", func(row []Register, odd int) { k.written(row, odd) }, k.keys)
	column := k.get(k.column)
	ADDQ(I32(k.vectors*k.Width()), column)
	k.set(k.column, column)
	CMPQ(column, k.step)
	JLT(LabelRef("columns"))
	k.End()
}

func (k *together) start() {
	for j := range group {
		for x := range k.vectors {
			k.Clear(k.corrected[j][x])
			k.Clear(k.answers[j][x])
		}
	}
	k.corrector, k.readers = k.tokensOf("Corrected"), k.tokensOf("Q")
}

// tokensOf returns the rows of a matrix from the first token on.
func (k *together) tokensOf(matrix string) []Register {
	return k.rowsFrom(k.row(matrix, k.get(k.t)), matrix, group)
}

// columnsOf returns the columns of a matrix in the rows of the tokens.
func (k *together) columnsOf(matrix string) []Register {
	first := k.row(matrix, k.get(k.t))
	k.plus(first, k.column)
	return k.rowsFrom(first, matrix, group)
}

// loop writes a loop over the rows of S, two by two, whose coefficients are at the addresses.
func (k *together) loop(suffix string, f func(row []Register, odd int), coefficients ...[]Register) {
	row, left := k.load("S"), k.load("Rows")
	k.plus(row, k.column)
	k.byTwo(left, suffix, func() {
		for odd := range 2 {
			f([]Register{row}, odd)
			ADDQ(k.step, row)
		}
		for _, c := range coefficients {
			k.advance(c, 2*k.Size)
		}
	}, func() { f([]Register{row}, 0) })
}

func (k *together) loaded(row []Register) []Op {
	s := k.Vecs(k.vectors)
	k.loadAll(s, row, 0, 0)
	return s
}

// written adds the writes of the tokens to a row, and returns the row.
func (k *together) written(row []Register, odd int) []Op {
	s := k.loaded(row)
	for j, u := range k.u {
		k.addScaled(s, u, k.element(k.keys, j, odd*k.Size))
	}
	k.storeAll(s, row, 0, 0)
	return s
}

// read adds a row times the coefficients and the queries of the tokens to their sums.
func (k *together) read(s []Op, odd int) {
	for j, sum := range k.corrected {
		k.addScaled(sum, s, k.element(k.corrector, j, odd*k.Size))
	}
	for j, sum := range k.answers {
		k.addScaled(sum, s, k.element(k.readers, j, odd*k.Size))
	}
}

// correct sets u of the four tokens,
//
//	u_j = β_j·(v_j − f_j·(Σ_i c_ji·S_i + Σ_{l<j} (c_j·k_l)·u_l)),
//
// and writes their outputs s_j·(Σ_i q_ji·S_i + Σ_{l≤j} (q_j·k_l)·u_l).
func (k *together) correct() {
	t, pairs := k.get(k.t), k.load("pairs")
	since := GP64()
	MOVQ(t, since)
	SUBQ(k.field("first"), since)
	SHLQ(U8(k.Shift()+2), since) // 16 numbers for each 4 tokens
	ADDQ(since, pairs)
	of := func(name string, j int) number[Op] {
		return number[Op]{v: k.Broadcast(Mem{Base: k.load(name), Index: t, Scale: uint8(k.Size), Disp: j * k.Size})}
	}
	place := 0
	// within adds the writes of the first tokens to a sum of the group.
	within := func(sum []Op, tokens int) {
		for _, u := range k.u[:tokens] {
			k.addScaled(sum, u, k.element([]Register{pairs}, 0, place*k.Size))
			place++
		}
	}
	values := k.columnsOf("V")
	for j, u := range k.u {
		within(k.corrected[j], j)
		k.loadAll(u, values, j, 0)
		k.prefetch(values, j, k.vectors*k.Width())
		fade, beta := of("Fade", j), of("Beta", j)
		k.subScaled(u, k.corrected[j], fade)
		k.scale(u, beta)
	}
	out := k.columnsOf("Out")
	for j, answer := range k.answers {
		within(answer, j+1)
		k.scale(answer, of("Scale", j))
		k.storeAll(answer, out, j, 0)
		k.prefetch(out, j, k.vectors*k.Width())
	}
}

// pairs writes the kernel that computes the products of the coefficients of the tokens of groups:
// c_j·k_l for l < j, row by row, and then q_j·k_l for l ≤ j.
func (m *avx) pairs() {
	m.Begin("pairs", "(p *Pass[T])", "sets p.pairs for the tokens p.first ≤ t < p.end, 16 numbers for each four.")
	k := together{avx: m, t: m.local()}
	m.open()
	to := m.load("pairs")
	m.set(k.t, m.load("first"))
	Label("tokens")
	for loop, matrix := range []string{"Corrected", "Q"} {
		suffix := fmt.Sprint(loop)
		keys, readers := k.tokensOf("K"), k.tokensOf(matrix)
		sums := make([][]Op, group)
		m.free = m.Registers()
		for j := range sums {
			sums[j] = m.accumulators(j + loop)
			for _, v := range sums[j] {
				m.Clear(v)
			}
		}
		add := func(load func(at Mem, v Op)) {
			all := m.Vecs(group - 1 + loop)
			for l, v := range all {
				load(amd64.Row(l, keys...), v)
			}
			for j, sum := range sums {
				if len(sum) == 0 {
					continue
				}
				v := m.Vec()
				load(amd64.Row(j, readers...), v)
				for l, s := range sum {
					m.Plus(all[l], v, s)
				}
			}
		}
		left := m.load("Rows")
		SUBQ(U8(m.Lanes()), left)
		JLT(LabelRef("rest" + suffix))
		Label("rows" + suffix)
		add(func(at Mem, v Op) { m.Machine.Move(at, v) })
		ADDQ(U8(m.Width()), keys[0])
		ADDQ(U8(m.Width()), readers[0])
		SUBQ(U8(m.Lanes()), left)
		JGE(LabelRef("rows" + suffix))
		Label("rest" + suffix)
		ADDQ(U8(m.Lanes()), left)
		JZ(LabelRef("done" + suffix))
		mask := m.Mask(left, m.Vec())
		add(func(at Mem, v Op) { m.LoadMasked(mask, at, v) })
		Label("done" + suffix)
		for _, sum := range sums {
			for _, s := range sum {
				one := m.Fold(m.Machine.Add, s.(Vec), m.free[0])
				amd64.Of(m.Machine, VMOVSS, VMOVSD)(one, Mem{Base: to})
				ADDQ(U8(m.Size), to)
			}
		}
	}
	t := m.get(k.t)
	ADDQ(I8(group), t)
	m.set(k.t, t)
	CMPQ(t, m.field("end"))
	JLT(LabelRef("tokens"))
	m.End()
}
