// Package rankone writes the amd64 kernels of package rankone.
package rankone

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// kernel is a machine that writes a kernel for panels of so many vectors.
type kernel struct {
	amd64.Machine
	vectors          int
	corrects, decays bool

	u         []VecPhysical // what the token adds to S times its key
	corrected sums          // what the next token corrects
	answers   sums          // to the query of the token, of S

	pass, t Register
	loops   int
}

// Write writes all kernels.
func Write() {
	Package("github.com/seed-feabd252/randfeat/internal/compute/rankone")
	for _, m := range amd64.Machines {
		widest := 2
		if m.Wide {
			widest = 4
		}
		for vectors := 1; vectors <= widest; vectors *= 2 {
			for rule, name := range []string{"decay", "correct", "decayCorrect"} {
				if name == "correct" && vectors == 4 {
					continue // package rankone uses decayCorrect with decays of 1, which is faster
				}
				k := kernel{Machine: m, vectors: vectors, corrects: rule >= 1, decays: rule != 1}
				free := m.Registers()
				take := func() []VecPhysical {
					taken := free[:vectors]
					free = free[vectors:]
					return taken
				}
				k.u, k.corrected, k.answers = take(), sums{take(), take()}, sums{take(), take()}
				k.write(name)
			}
		}
		writeSeveral(m)
		m.MaskTable()
		writeTogether(m)
	}
}

// write writes a kernel. A token begins with the sums that it corrects, and ends with those that
// the next one corrects.
func (k *kernel) write(name string) {
	k.Begin(fmt.Sprintf("%s%d", name, k.vectors), "(p *Pass[T])",
		fmt.Sprintf("takes tokens through a panel of %d columns.", k.vectors*k.Lanes()))
	k.pass = amd64.Argument("p")
	k.t = GP64()
	XORQ(k.t, k.t)
	if k.corrects {
		k.corrected.clear(k)
		k.read(k.row("Corrected", k.t), k.corrected)
	}

	Label("token")
	k.written()
	k.advance()
	k.answer(k.row("Out", k.t))
	heads := k.load("Heads")
	DECQ(heads)
	JZ(LabelRef("next"))
	q, out := k.row("Q", k.t), k.row("Out", k.t)
	Label("head")
	k.skip("QueryHead", q)
	k.skip("OutHead", out)
	k.answers.clear(k)
	k.read(q, k.answers)
	k.answer(out)
	amd64.Repeat("head", heads)
	Label("next")
	INCQ(k.t)
	CMPQ(k.t, k.field("K.Rows"))
	JLT(LabelRef("token"))
	amd64.End()
}

// sums are what even and what odd rows add up to.
type sums [2][]VecPhysical

func (s sums) clear(k *kernel) {
	for _, half := range s {
		for _, v := range half {
			k.Clear(v)
		}
	}
}

// total adds the halves.
func (s sums) total(k *kernel) []VecPhysical {
	for j := range s[0] {
		k.Add(s[1][j], s[0][j], s[0][j])
	}
	return s[0]
}

// field returns the address of a number of the pass, or of the address of the elements of a slice.
func (k *kernel) field(path string) Mem {
	c := Param("p").Dereference(k.pass)
	for name := range strings.SplitSeq(path, ".") {
		c = c.Field(name)
	}
	basic, err := c.Resolve()
	if err != nil {
		basic, err = c.Base().Resolve()
	}
	if err != nil {
		panic(err)
	}
	return basic.Addr
}

// load loads such a field.
func (k *kernel) load(path string) Register {
	v := GP64()
	MOVQ(k.field(path), v)
	return v
}

// row returns the address of row t of a matrix.
func (k *kernel) row(matrix string, t Register) Register {
	at, stride := k.load(matrix+".Data"), k.load(matrix+".Stride")
	IMULQ(t, stride)
	LEAQ(Mem{Base: at, Index: stride, Scale: uint8(k.Size)}, at)
	return at
}

// skip adds a number of elements to an address.
func (k *kernel) skip(elements string, to Register) {
	n := k.load(elements)
	LEAQ(Mem{Base: to, Index: n, Scale: uint8(k.Size)}, to)
}

// ahead is the number of tokens from one to that whose rows it brings into the first cache.
const ahead = 2

// prefetcher asks for the rows of keys, queries, values and outputs of a later token, which may be
// beyond the end. All at once would fill the buffers for lines on their way, and wait.
func (k *kernel) prefetcher() func(odd int, i Register) {
	t := GP64()
	LEAQ(Mem{Base: k.t, Disp: ahead}, t)
	coefficients := []Register{k.row("K", t), k.row("Q", t)}
	columns := []Register{k.row("V", t), k.row("Out", t)}
	return func(odd int, i Register) {
		PREFETCHT0(Mem{Base: coefficients[odd], Index: i, Scale: uint8(k.Size)})
		// A row of a panel is a cache line a vector, and spread over 64 rows or fewer.
		PREFETCHT0(Mem{Base: columns[odd], Index: i, Scale: uint8(k.vectors)})
	}
}

// written makes u.
func (k *kernel) written() {
	value := k.row("V", k.t)
	for j, v := range k.u {
		k.Move(Mem{Base: value, Disp: j * k.Width()}, v)
	}
	if k.corrects {
		sum := k.corrected.total(k)
		fade := k.Broadcast(Mem{Base: k.load("Fade"), Index: k.t, Scale: uint8(k.Size)})
		for j, v := range k.u {
			k.Minus(fade, sum[j], v)
		}
	}
	beta := k.Broadcast(Mem{Base: k.load("Beta"), Index: k.t, Scale: uint8(k.Size)})
	for _, v := range k.u {
		k.Mul(beta, v, v)
	}
}

// rows writes a loop over the rows of S, two by two. f gets the number of the row in its pair, the
// address of the row and its index i ≥ 0, to which the number is added; next ends a pair.
func (k *kernel) rows(f func(odd int, row, i Register), next func()) {
	loop, last, done := fmt.Sprintf("pair%d", k.loops), fmt.Sprintf("last%d", k.loops), fmt.Sprintf("done%d", k.loops)
	k.loops++
	row, i, pairs := k.load("S"), GP64(), k.load("Rows")
	XORQ(i, i)
	DECQ(pairs)
	JLE(LabelRef(last))
	Label(loop)
	f(0, row, i)
	f(1, row, i)
	ADDQ(I32(2*k.vectors*k.Width()), row)
	next()
	ADDQ(I8(2), i)
	CMPQ(i, pairs)
	JLT(LabelRef(loop))
	Label(last)
	JNE(LabelRef(done))
	f(0, row, i)
	Label(done)
}

// read adds c_i·S_i to the sums for all rows i, where c is at an address.
func (k *kernel) read(c Register, sum sums) {
	k.rows(func(odd int, row, i Register) {
		a := k.Broadcast(Mem{Base: c, Index: i, Scale: uint8(k.Size), Disp: odd * k.Size})
		for j, v := range sum[odd] {
			k.Plus(k.at(odd, j, row), a, v)
		}
	}, func() {})
}

// at returns vector j of a row of a pair.
func (k *kernel) at(odd, j int, row Register) Mem {
	return Mem{Base: row, Disp: (odd*k.vectors + j) * k.Width()}
}

// advance makes S_i = g_i·S_i + k_i·u for all rows i, and the sums of what the query of the token and
// the next token read of it.
func (k *kernel) advance() {
	key, query := k.row("K", k.t), k.row("Q", k.t)
	var coefficient, decay, decayStep Register
	if k.corrects {
		// After the last token there is none: any row does.
		next := GP64()
		LEAQ(Mem{Base: k.t, Disp: 1}, next)
		CMPQ(next, k.field("K.Rows"))
		CMOVQEQ(k.t, next)
		coefficient = k.row("Corrected", next)
		k.corrected.clear(k)
	}
	if k.decays {
		decay, decayStep = k.row("Decays", k.t), GP64()
		zero := GP64()
		XORQ(zero, zero)
		MOVQ(U32(k.Size), decayStep)
		CMPQ(k.field("Decays.Cols"), U8(1))
		CMOVQEQ(zero, decayStep)
	}
	k.answers.clear(k)
	prefetch := k.prefetcher()
	k.rows(func(odd int, row, i Register) {
		prefetch(odd, i)
		coefficientOf := func(p Register) Op {
			return k.Broadcast(Mem{Base: p, Index: i, Scale: uint8(k.Size), Disp: odd * k.Size})
		}
		s := k.Vecs(k.vectors)
		if k.decays {
			at := Mem{Base: decay}
			if odd == 1 {
				at.Index, at.Scale = decayStep, 1
			}
			g := k.Broadcast(at)
			for j, v := range s {
				k.Mul(k.at(odd, j, row), g, v)
			}
		} else {
			for j, v := range s {
				k.Move(k.at(odd, j, row), v)
			}
		}
		a := coefficientOf(key)
		for j, v := range s {
			k.Plus(k.u[j], a, v)
		}
		for j, v := range s {
			k.Move(v, k.at(odd, j, row))
		}
		q := coefficientOf(query)
		for j, v := range s {
			k.Plus(v, q, k.answers[odd][j])
		}
		if k.corrects {
			c := coefficientOf(coefficient)
			for j, v := range s {
				k.Plus(v, c, k.corrected[odd][j])
			}
		}
	}, func() {
		if k.decays {
			LEAQ(Mem{Base: decay, Index: decayStep, Scale: 2}, decay)
		}
	})
}

// answer writes the scaled answers to an address.
func (k *kernel) answer(to Register) {
	scale := k.Broadcast(Mem{Base: k.load("Scale"), Index: k.t, Scale: uint8(k.Size)})
	answer := k.answers.total(k)
	for _, v := range answer {
		k.Mul(scale, v, v)
	}
	if !k.corrects {
		write := fmt.Sprintf("write%d", k.loops)
		CMPB(k.field("added"), U8(0))
		JEQ(LabelRef(write))
		for j, v := range answer {
			k.Add(Mem{Base: to, Disp: j * k.Width()}, v, v)
		}
		Label(write)
	}
	for j, v := range answer {
		k.Move(v, Mem{Base: to, Disp: j * k.Width()})
	}
}
