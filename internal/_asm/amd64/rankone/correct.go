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

// together is a kernel of tokens that correct, four by four, so many vectors of the columns of a panel at
// a time. What the tokens of a group read of S before them comes first; what they read of what each
// other writes are products of their coefficients, which [pairs] has made. So S is loaded and written
// once for four tokens, and read by the next four on the way. With decays, of all rows alike, what is
// read, what is added and S itself have factors besides, which are in p.fades.
type together struct {
	kernel
	u                     [][]VecPhysical // by the token
	corrected, answers    [][]VecPhysical // what tokens read of S before the group, by the token
	step, column, at      Mem             // bytes of a row of the panel; the first column; the first token
	fades, faded          Mem             // the address of the factors of the group; the factor of S
	keys, readers, errors four
}

// writeTogether writes the kernels of a machine.
func writeTogether(m amd64.Machine) {
	widest := 1
	if m.Wide {
		widest = 2
	}
	for vectors := 1; vectors <= widest; vectors *= 2 {
		for _, decays := range []bool{false, true} {
			k := together{kernel: kernel{Machine: m, vectors: vectors, decays: decays}}
			free := m.Registers()
			for range group {
				for _, to := range []*[][]VecPhysical{&k.u, &k.corrected, &k.answers} {
					*to = append(*to, free[:vectors])
					free = free[vectors:]
				}
			}
			k.write()
		}
	}
	writePairs(m)
}

func (k *together) write() {
	name := "correct"
	if k.decays {
		name = "decayCorrect"
	}
	k.Begin(fmt.Sprintf("%s%dBy%d", name, k.vectors, group), "(p *Pass[T])",
		fmt.Sprintf("takes the tokens p.first ≤ t < p.end, %d at a time, through %d columns at a time.", group, k.vectors*k.Lanes()))
	k.step, k.column, k.at = AllocLocal(8), AllocLocal(8), AllocLocal(8)
	if k.decays {
		k.fades, k.faded = AllocLocal(8), AllocLocal(8)
	}
	k.pass = amd64.Argument("p")
	step := k.load("Width")
	SHLQ(U8(k.Shift()), step)
	MOVQ(step, k.step)
	MOVQ(I32(0), k.column)
	Label("columns")
	k.pass = amd64.Argument("p")
	MOVQ(k.load("first"), k.at)
	k.clear()
	k.errors, k.readers = k.four("Corrected"), k.four("Q")
	k.rows("Read", func(row Register, odd int) { k.read(k.loaded(row), odd) }, k.errors, k.readers)
	Label("tokens")
	k.pass = amd64.Argument("p")
	k.correct()
	k.keys = k.four("K")
	t := GP64()
	MOVQ(k.at, t)
	ADDQ(I8(group), t)
	MOVQ(t, k.at)
	CMPQ(t, k.field("end"))
	JGE(LabelRef("last"))
	k.clear()
	k.errors, k.readers = k.four("Corrected"), k.four("Q")
	k.rows("Both", func(row Register, odd int) {
		for _, f := range []four{k.errors, k.readers} {
			PREFETCHT0(f.later(2 * odd))
			PREFETCHT0(f.later(2*odd + 1))
		}
		k.read(k.written(row, odd), odd)
	}, k.keys, k.errors, k.readers)
	JMP(LabelRef("tokens"))
	Label("last")
	k.rows("Write", func(row Register, odd int) { k.written(row, odd) }, k.keys)
	column := GP64()
	MOVQ(k.column, column)
	ADDQ(I32(k.vectors*k.Width()), column)
	MOVQ(column, k.column)
	CMPQ(column, k.step)
	JLT(LabelRef("columns"))
	amd64.End()
}

// clear makes what tokens read zero.
func (k *together) clear() {
	for j := range group {
		for x := range k.vectors {
			k.Clear(k.corrected[j][x])
			k.Clear(k.answers[j][x])
		}
	}
}

// four returns the addresses of the rows of a matrix, of the tokens from k.at.
func (k *together) four(matrix string) four {
	t := GP64()
	MOVQ(k.at, t)
	f := four{at: k.row(matrix, t), stride: k.load(matrix + ".Stride"), stride3: GP64(), next: GP64()}
	SHLQ(U8(k.Shift()), f.stride)
	LEAQ(Mem{Base: f.stride, Index: f.stride, Scale: 2}, f.stride3)
	LEAQ(Mem{Base: f.at, Index: f.stride, Scale: 4}, f.next)
	return f
}

// rows writes a loop over the rows of S, two by two, whose coefficients are at the addresses.
func (k *together) rows(suffix string, f func(row Register, odd int), coefficients ...four) {
	row, left := k.load("S"), k.load("Rows")
	ADDQ(k.column, row)
	SUBQ(U8(2), left)
	JLT(LabelRef("odd" + suffix))
	Label("pair" + suffix)
	for odd := range 2 {
		f(row, odd)
		ADDQ(k.step, row)
	}
	for _, c := range coefficients {
		ADDQ(I8(2*k.Size), c.at)
		ADDQ(I8(2*k.Size), c.next)
	}
	SUBQ(U8(2), left)
	JGE(LabelRef("pair" + suffix))
	Label("odd" + suffix)
	CMPQ(left, I8(-1))
	JNE(LabelRef("done" + suffix))
	f(row, 0)
	Label("done" + suffix)
}

// loaded returns a row of S.
func (k *together) loaded(row Register) []Op {
	s := k.Vecs(k.vectors)
	for x, v := range s {
		k.Move(Mem{Base: row, Disp: x * k.Width()}, v)
	}
	return s
}

// written writes what the tokens add to a row, and returns it.
func (k *together) written(row Register, odd int) []Op {
	s := k.loaded(row)
	if k.decays {
		factor := k.Broadcast(k.faded)
		for _, v := range s {
			k.Mul(factor, v, v)
		}
	}
	for j, u := range k.u {
		key := k.of(k.keys, j, odd)
		for x, v := range s {
			k.Plus(u[x], key, v)
		}
	}
	for x, v := range s {
		k.Move(v, Mem{Base: row, Disp: x * k.Width()})
	}
	return s
}

// read adds what the tokens read of a row.
func (k *together) read(s []Op, odd int) {
	for _, reads := range []struct {
		by   four
		sums [][]VecPhysical
	}{{k.errors, k.corrected}, {k.readers, k.answers}} {
		for j, sum := range reads.sums {
			c := k.of(reads.by, j, odd)
			for x, v := range s {
				k.Plus(v, c, sum[x])
			}
		}
	}
}

// of returns the coefficient of token j for a row.
func (k *together) of(f four, j, odd int) Op {
	at := f.token(j)
	at.Disp = odd * k.Size
	return k.Broadcast(at)
}

// correct makes u of the four tokens,
//
//	u_j = β_j·(v_j − f_j·(Σ_i c_ji·S_i + Σ_{l<j} (c_j·k_l)·u_l)),
//
// and writes their outputs s_j·(Σ_i q_ji·S_i + Σ_{l≤j} (q_j·k_l)·u_l). With decays, sums over S have
// factors, and so has in the end what u adds to S.
func (k *together) correct() {
	t, pairs := GP64(), k.load("pairs")
	MOVQ(k.at, t)
	since := GP64()
	MOVQ(t, since)
	SUBQ(k.field("first"), since)
	SHLQ(U8(k.Shift()+2), since) // 16 numbers for each 4 tokens
	ADDQ(since, pairs)
	of := func(name string, j int) Op {
		return k.Broadcast(Mem{Base: k.load(name), Index: t, Scale: uint8(k.Size), Disp: j * k.Size})
	}
	place := 0
	pair := func() Op {
		place++
		return k.Broadcast(Mem{Base: pairs, Disp: (place - 1) * k.Size})
	}
	if k.decays {
		k.fade(since)
	}
	values := k.four("V")
	ADDQ(k.column, values.at)
	ADDQ(k.column, values.next)
	for j, u := range k.u {
		for l := range j {
			product := pair()
			for x, v := range k.corrected[j] {
				k.Plus(k.u[l][x], product, v)
			}
		}
		at := values.token(j)
		for x, v := range u {
			at.Disp = x * k.Width()
			k.Move(at, v)
		}
		k.prefetchColumns(values, j)
		fade, beta := of("Fade", j), of("Beta", j)
		for x, v := range u {
			k.Minus(fade, k.corrected[j][x], v)
			k.Mul(beta, v, v)
		}
	}
	out := k.four("Out")
	ADDQ(k.column, out.at)
	ADDQ(k.column, out.next)
	for j, answer := range k.answers {
		for l := range j + 1 {
			product := pair()
			for x, v := range answer {
				k.Plus(k.u[l][x], product, v)
			}
		}
		scale, at := of("Scale", j), out.token(j)
		for x, v := range answer {
			k.Mul(scale, v, v)
			at.Disp = x * k.Width()
			k.Move(v, at)
		}
		k.prefetchColumns(out, j)
	}
	if k.decays {
		fades := GP64()
		MOVQ(k.fades, fades)
		for j, u := range k.u[:group-1] {
			k.times(Mem{Base: fades, Disp: (group + j) * k.Size}, u)
		}
	}
}

// fade multiplies what tokens read of S before the group by what is left of S by then, and keeps what is
// left in the end. Since is the distance of the products of the group from the first.
func (k *together) fade(since Register) {
	fades := GP64()
	MOVQ(since, fades)
	SHRQ(U8(1), fades) // 8 numbers for each 4 tokens
	ADDQ(k.load("fades"), fades)
	MOVQ(fades, k.fades)
	for j := range group {
		left := Mem{Base: fades, Disp: j * k.Size}
		k.times(left, k.answers[j])
		if j+1 < group {
			k.times(left, k.corrected[j+1])
		}
	}
	last := GP64()
	MOVQ(Mem{Base: fades, Disp: (group - 1) * k.Size}, last)
	MOVQ(last, k.faded)
}

// times multiplies vectors by a number in memory.
func (k *together) times(number Mem, vectors []VecPhysical) {
	factor := k.Broadcast(number)
	for _, v := range vectors {
		k.Mul(factor, v, v)
	}
}

// writePairs writes the kernel that makes the products of the coefficients of the tokens of groups: c_j·k_l
// for l < j, row by row, and then q_j·k_l for l ≤ j.
func writePairs(m amd64.Machine) {
	m.Begin("pairs", "(p *Pass[T])", "sets p.pairs for the tokens p.first ≤ t < p.end, 16 numbers for each four.")
	k := together{kernel: kernel{Machine: m}}
	k.at = AllocLocal(8)
	k.pass = amd64.Argument("p")
	to := k.load("pairs")
	MOVQ(k.load("first"), k.at)
	Label("tokens")
	for loop, matrix := range []string{"Corrected", "Q"} {
		suffix := fmt.Sprint(loop)
		keys, readers := k.four("K"), k.four(matrix)
		sums, registers := make([][]VecPhysical, group), m.Registers()
		for j := range sums {
			sums[j], registers = registers[:j+loop], registers[j+loop:]
			for _, v := range sums[j] {
				m.Clear(v)
			}
		}
		some := func(load func(at Mem, v Op)) {
			all := m.Vecs(group - 1 + loop)
			for l, v := range all {
				load(keys.token(l), v)
			}
			for j, sum := range sums {
				if len(sum) == 0 {
					continue
				}
				v := m.Vec()
				load(readers.token(j), v)
				for l, s := range sum {
					m.Plus(all[l], v, s)
				}
			}
		}
		left := k.load("Rows")
		SUBQ(U8(m.Lanes()), left)
		JLT(LabelRef("rest" + suffix))
		Label("rows" + suffix)
		some(func(at Mem, v Op) { m.Move(at, v) })
		for _, f := range []four{keys, readers} {
			ADDQ(U8(m.Width()), f.at)
		}
		SUBQ(U8(m.Lanes()), left)
		JGE(LabelRef("rows" + suffix))
		Label("rest" + suffix)
		ADDQ(U8(m.Lanes()), left)
		JZ(LabelRef("done" + suffix))
		mask := m.Mask(left, m.Vec())
		some(func(at Mem, v Op) { m.LoadMasked(mask, at, v) })
		Label("done" + suffix)
		free := registers[0]
		for _, sum := range sums {
			for _, s := range sum {
				one := m.Fold(func(ops ...Op) { m.Add(ops...) }, s, free)
				amd64.Of(m, VMOVSS, VMOVSD)(one, Mem{Base: to})
				ADDQ(U8(m.Size), to)
			}
		}
	}
	t := GP64()
	MOVQ(k.at, t)
	ADDQ(I8(group), t)
	MOVQ(t, k.at)
	CMPQ(t, k.field("end"))
	JLT(LabelRef("tokens"))
	amd64.End()
}
