package rankone

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// several is a kernel of tokens that correct nothing and have at most one decay. So many tokens pass
// a row of S one after another while it is in registers. The kernel takes so many vectors of the
// columns of a panel at a time.
type several struct {
	kernel
	tokens               int             // 4 or 1
	writes, reads, pasts [][]VecPhysical // by the token: u, and what queries read of S and of Older
	factors              []Op            // decays
	older                Register        // from S to Older, without decays

	step              Register // from a row of the panel to the next
	column, at, heads Mem      // the first column, the first token, heads that are left
	queries, to       Mem      // the queries of a head, and where the outputs go
	keys, readers     four
}

// four are the addresses of rows of up to four tokens and of the four after the first.
type four struct{ at, stride, stride3, next Register }

// token returns the address of element 0 of token j.
func (f four) token(j int) Mem {
	switch j {
	case 0:
		return Mem{Base: f.at}
	case 3:
		return Mem{Base: f.at, Index: f.stride3, Scale: 1}
	}
	return Mem{Base: f.at, Index: f.stride, Scale: uint8(j)}
}

// later returns the same for the next four.
func (f four) later(j int) Mem {
	f.at = f.next
	return f.token(j)
}

// writeSeveral writes the kernels of a machine.
func writeSeveral(m amd64.Machine) {
	widest := 1
	if m.Wide {
		widest = 2
	}
	for _, tokens := range []int{4, 1} {
		for vectors := 1; vectors <= widest; vectors *= 2 {
			for _, decays := range []bool{false, true} {
				k := several{kernel: kernel{Machine: m, vectors: vectors, decays: decays}, tokens: tokens}
				free := m.Registers()
				take := func(n int) []VecPhysical {
					taken := free[:n]
					free = free[n:]
					return taken
				}
				for range tokens {
					k.writes, k.reads = append(k.writes, take(vectors)), append(k.reads, take(vectors))
					if decays {
						k.factors = append(k.factors, take(1)[0])
					} else {
						k.pasts = append(k.pasts, take(vectors))
					}
				}
				k.write()
			}
		}
	}
}

func (k *several) write() {
	name := "add"
	if k.decays {
		name = "decayAll"
	}
	k.Begin(fmt.Sprintf("%s%dBy%d", name, k.vectors, k.tokens), "(p *Pass[T])",
		fmt.Sprintf("takes the tokens p.first ≤ t < p.end, %d at a time, through %d columns at a time.", k.tokens, k.vectors*k.Lanes()))
	k.pass = amd64.Argument("p")
	k.step = k.load("Width")
	SHLQ(U8(k.Shift()), k.step)
	if !k.decays {
		k.older = k.load("Older")
		SUBQ(k.field("S"), k.older)
	}
	k.column, k.at, k.heads, k.queries, k.to = AllocLocal(8), AllocLocal(8), AllocLocal(8), AllocLocal(8), AllocLocal(8)
	MOVQ(I32(0), k.column)
	Label("columns")
	first := k.load("first")
	MOVQ(first, k.at)
	Label("tokens")
	k.begin()
	Label("head")
	for j := range k.tokens {
		for x := range k.vectors {
			k.Clear(k.reads[j][x])
			if !k.decays {
				k.Clear(k.pasts[j][x])
			}
		}
	}
	CMPQ(k.heads, U8(1))
	JEQ(LabelRef("lastHead"))
	k.pairs(false)
	JMP(LabelRef("answer"))
	Label("lastHead")
	k.pairs(true)
	Label("answer")
	k.answer()
	DECQ(k.heads)
	JNZ(LabelRef("head"))
	t := GP64()
	MOVQ(k.at, t)
	ADDQ(I8(k.tokens), t)
	MOVQ(t, k.at)
	CMPQ(t, k.field("end"))
	JLT(LabelRef("tokens"))
	column := GP64()
	MOVQ(k.column, column)
	ADDQ(I32(k.vectors*k.Width()), column)
	MOVQ(column, k.column)
	CMPQ(column, k.step)
	JLT(LabelRef("columns"))
	amd64.End()
}

// four returns the addresses of the rows of a matrix, of the tokens from k.at.
func (k *several) four(matrix string) four {
	t := GP64()
	MOVQ(k.at, t)
	f := four{at: k.row(matrix, t), stride: k.load(matrix + ".Stride"), stride3: GP64(), next: GP64()}
	SHLQ(U8(k.Shift()), f.stride)
	LEAQ(Mem{Base: f.stride, Index: f.stride, Scale: 2}, f.stride3)
	LEAQ(Mem{Base: f.at, Index: f.stride, Scale: 4}, f.next)
	return f
}

// begin makes u and the factors of four tokens, and asks for the values and the places of the outputs
// of the next four.
func (k *several) begin() {
	t := GP64()
	MOVQ(k.at, t)
	values := k.four("V")
	ADDQ(k.column, values.at)
	ADDQ(k.column, values.next)
	beta := k.load("Beta")
	LEAQ(Mem{Base: beta, Index: t, Scale: uint8(k.Size)}, beta)
	for j, u := range k.writes {
		strength := k.Broadcast(Mem{Base: beta, Disp: j * k.Size})
		for x, v := range u {
			at := values.token(j)
			at.Disp = x * k.Width()
			k.Mul(at, strength, v)
		}
		k.prefetchColumns(values, j)
	}
	if k.decays {
		g := k.four("Decays")
		for j, factor := range k.factors {
			k.Fill(g.token(j), factor)
		}
	}
	out := k.four("Out")
	ADDQ(k.column, out.at)
	ADDQ(k.column, out.next)
	for j := range k.tokens {
		k.prefetchColumns(out, j)
	}
	MOVQ(out.at, k.to)
	MOVQ(k.row("Q", t), k.queries)
	MOVQ(k.load("Heads"), k.heads)
}

// prefetchColumns asks for the columns of a later token.
func (k *kernel) prefetchColumns(f four, j int) {
	for at := f.later(j); at.Disp < k.vectors*k.Width(); at.Disp += 64 {
		PREFETCHT0(at)
	}
}

// pairs writes a loop over the rows of S, two by two, for the queries of a head. Only the last head
// advances S.
func (k *several) pairs(advances bool) {
	suffix := "Peek"
	if advances {
		suffix = "Advance"
	}
	k.keys, k.readers = k.four("K"), k.four("Q")
	MOVQ(k.queries, k.readers.at)
	row, pairs := k.load("S"), k.load("Rows")
	ADDQ(k.column, row)
	SUBQ(U8(2), pairs)
	JLT(LabelRef("last" + suffix))
	Label("pair" + suffix)
	for odd := range 2 {
		k.take(row, odd, advances)
		ADDQ(k.step, row)
	}
	for _, p := range []Register{k.keys.at, k.keys.next, k.readers.at, k.readers.next} {
		ADDQ(I8(2*k.Size), p)
	}
	SUBQ(U8(2), pairs)
	JGE(LabelRef("pair" + suffix))
	Label("last" + suffix)
	CMPQ(pairs, I8(-1))
	JNE(LabelRef("done" + suffix))
	k.take(row, 0, advances)
	Label("done" + suffix)
}

// take takes a row through the tokens.
func (k *several) take(row Register, odd int, advances bool) {
	s := k.Vecs(k.vectors)
	for x, v := range s {
		k.Move(Mem{Base: row, Disp: x * k.Width()}, v)
	}
	var old []Op
	if !k.decays {
		old = k.Vecs(k.vectors)
		for x, v := range old {
			k.Move(Mem{Base: row, Disp: x * k.Width(), Index: k.older, Scale: 1}, v)
		}
	}
	if advances {
		for _, f := range []four{k.keys, k.readers} {
			PREFETCHT0(f.later(2 * odd))
			PREFETCHT0(f.later(2*odd + 1))
		}
	}
	of := func(f four, j int) Op {
		at := f.token(j)
		at.Disp = odd * k.Size
		return k.Broadcast(at)
	}
	for j := range k.tokens {
		a := of(k.keys, j)
		for x, v := range s {
			if k.decays {
				k.Mul(k.factors[j], v, v)
			}
			k.Plus(k.writes[j][x], a, v)
		}
		q := of(k.readers, j)
		for x, v := range s {
			k.Plus(v, q, k.reads[j][x])
		}
		for x, v := range old {
			k.Plus(v, q, k.pasts[j][x])
		}
	}
	if advances {
		for x, v := range s {
			k.Move(v, Mem{Base: row, Disp: x * k.Width()})
		}
	}
}

// answer writes the scaled answers of four tokens, and goes to the next head.
func (k *several) answer() {
	t := GP64()
	MOVQ(k.at, t)
	out, scale := k.four("Out"), k.load("Scale")
	MOVQ(k.to, out.at)
	LEAQ(Mem{Base: scale, Index: t, Scale: uint8(k.Size)}, scale)
	for j, answer := range k.reads {
		s := k.Broadcast(Mem{Base: scale, Disp: j * k.Size})
		for x, v := range answer {
			if !k.decays {
				k.Add(k.pasts[j][x], v, v)
			}
			k.Mul(s, v, v)
		}
	}
	each := func(f func(at Mem, v Op)) {
		for j, answer := range k.reads {
			for x, v := range answer {
				at := out.token(j)
				at.Disp = x * k.Width()
				f(at, v)
			}
		}
	}
	CMPB(k.field("added"), U8(0))
	JEQ(LabelRef("write"))
	each(func(at Mem, v Op) { k.Add(at, v, v) })
	Label("write")
	each(func(at Mem, v Op) { k.Move(v, at) })
	q, skip := k.load("QueryHead"), k.load("OutHead")
	SHLQ(U8(k.Shift()), q)
	SHLQ(U8(k.Shift()), skip)
	ADDQ(q, k.queries)
	ADDQ(skip, k.to)
}
