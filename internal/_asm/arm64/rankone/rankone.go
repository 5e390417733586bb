// Package rankone writes the arm64 kernels of package rankone.
package rankone

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/rankone"
)

// kernel is a machine that writes a kernel for panels of so many vectors.
type kernel struct {
	arm64.Machine
	vectors          int
	corrects, decays bool

	u         []arm64.Vec // what the token adds to S times its key
	corrected sums        // what the next token corrects
	answers   sums        // to the query of the token, of S

	pass, t arm64.GP
	loops   int
}

// Write writes all kernels.
func Write(f *arm64.File) {
	for _, m := range arm64.Machines(f) {
		for vectors := 1; vectors <= 4; vectors *= 2 {
			for rule, name := range []string{"decay", "correct", "decayCorrect"} {
				k := kernel{Machine: m, vectors: vectors, corrects: rule >= 1, decays: rule != 1}
				k.write(name)
			}
		}
		writeSeveral(m)
	}
}

// write writes a kernel. A token begins with the sums that it corrects, and ends with those that
// the next one corrects.
func (k *kernel) write(name string) {
	k.Begin(fmt.Sprintf("%s%d", name, k.vectors), "(p *Pass[T])",
		fmt.Sprintf("takes tokens through a panel of %d columns.", k.vectors*k.Lanes()))
	k.u, k.corrected, k.answers = k.Vecs(k.vectors), k.sums(), k.sums()
	k.pass = k.Argument("p")
	k.t = k.GP()
	k.I("MOVD $0, R%w", k.t)
	if k.corrects {
		k.corrected.clear(k)
		k.read(k.row("Corrected", k.t), k.corrected)
	}

	k.Label("token")
	k.written()
	k.advance()
	k.answer(k.row("Out", k.t))
	heads := k.load("Heads")
	k.I("SUBS $1, R%m", heads)
	k.I("BEQ %j", "next")
	q, out := k.row("Q", k.t), k.row("Out", k.t)
	k.Label("head")
	k.skip("QueryHead", q)
	k.skip("OutHead", out)
	k.answers.clear(k)
	k.read(k.CopyOf(q), k.answers)
	k.answer(out)
	k.Repeat("head", heads)
	k.Label("next")
	k.I("ADD $1, R%m", k.t)
	k.I("CMP R%r, R%r", k.load("K.Rows"), k.t)
	k.I("BLT %j", "token")
	k.End()
}

// sums are what even and what odd rows add up to.
type sums [2][]arm64.Vec

func (k *kernel) sums() sums { return sums{k.Vecs(k.vectors), k.Vecs(k.vectors)} }

func (s sums) clear(k *kernel) {
	for _, half := range s {
		for _, v := range half {
			k.Into(v).Zero()
		}
	}
}

// total adds the halves.
func (s sums) total(k *kernel) []arm64.Vec {
	all := make([]arm64.Vec, k.vectors)
	for j := range all {
		all[j] = k.Add(s[0][j], s[1][j])
	}
	return all
}

// load loads a number of the pass, or the address of the elements of a slice.
func (k *kernel) load(path string) arm64.GP {
	v := k.GP()
	k.I("MOVD %d(R%r), R%w", offset(path), k.pass, v)
	return v
}

// offset returns where a field of the pass is.
func offset(path string) uintptr {
	at, kind := uintptr(0), reflect.TypeFor[rankone.Pass[float64]]()
	for name := range strings.SplitSeq(path, ".") {
		field, ok := kind.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("rankone: no field %s", path))
		}
		at, kind = at+field.Offset, field.Type
	}
	return at
}

// row returns the address of row t of a matrix.
func (k *kernel) row(matrix string, t arm64.GP) arm64.GP {
	at, stride := k.load(matrix+".Data"), k.load(matrix+".Stride")
	k.I("MUL R%r, R%m", t, stride)
	k.I("ADD R%r<<%d, R%m", stride, k.Shift(), at)
	return at
}

// skip adds a number of elements to an address.
func (k *kernel) skip(elements string, to arm64.GP) {
	k.I("ADD R%r<<%d, R%m", k.load(elements), k.Shift(), to)
}

// number returns an element of a slice as the first lane of a vector.
func (k *kernel) number(slice string, i arm64.GP) arm64.Vec {
	at := k.load(slice)
	k.I("ADD R%r<<%d, R%m", i, k.Shift(), at)
	return k.LoadElement(at, 0)
}

// written makes u.
func (k *kernel) written() {
	k.LoadTo(k.u, k.row("V", k.t), 0)
	if k.corrects {
		sum, fade := k.corrected.total(k), k.number("Fade", k.t)
		for j, v := range k.u {
			k.MinusLane(v, sum[j], fade, 0)
		}
	}
	beta := k.number("Beta", k.t)
	for _, v := range k.u {
		k.Into(v).MulLane(v, beta, 0)
	}
}

// rows writes a loop over the rows of S, two by two. begin gets 2, or 1 for a last row without
// another; f gets the number of the row in its pair and the address of the first.
func (k *kernel) rows(begin func(rows int), f func(odd int, row arm64.GP)) {
	loop, last, done := fmt.Sprintf("pair%d", k.loops), fmt.Sprintf("last%d", k.loops), fmt.Sprintf("done%d", k.loops)
	k.loops++
	row, left := k.load("S"), k.load("Rows")
	k.I("SUBS $2, R%m", left)
	k.I("BLT %j", last)
	k.Label(loop)
	begin(2)
	f(0, row)
	f(1, row)
	k.I("ADD $%d, R%m", 2*k.vectors*arm64.Width, row)
	k.I("SUBS $2, R%m", left)
	k.I("BGE %j", loop)
	k.Label(last)
	k.I("CMN $2, R%r", left)
	k.I("BEQ %j", done)
	begin(1)
	f(0, row)
	k.Label(done)
}

// take returns the elements at p for one or two rows, and p goes on.
func (k *kernel) take(p arm64.GP, rows int) arm64.Vec {
	v, bytes := k.Vec(), rows*k.Size
	k.I("%s %d(R%m), F%w", map[int]string{4: "FMOVS.P", 8: "FMOVD.P", 16: "FMOVQ.P"}[bytes], bytes, p, v)
	return v
}

// read adds c_i·S_i to the sums for all rows i, where c is at an address.
func (k *kernel) read(c arm64.GP, sum sums) {
	var a arm64.Vec
	k.rows(func(rows int) { a = k.take(c, rows) }, func(odd int, row arm64.GP) {
		s := k.Vecs(k.vectors)
		k.LoadTo(s, row, odd*k.vectors*arm64.Width)
		for j, v := range sum[odd] {
			k.PlusLane(v, s[j], a, odd)
		}
	})
}

// advance makes S_i = g_i·S_i + k_i·u for all rows i, and the sums of what the query of the token and
// the next token read of it.
func (k *kernel) advance() {
	key, query := k.row("K", k.t), k.row("Q", k.t)
	var next, decay, step arm64.GP
	if k.corrects {
		// After the last token there is none: any row does.
		later := k.GP()
		k.I("ADD $1, R%r, R%w", k.t, later)
		k.I("CMP R%r, R%r", k.load("K.Rows"), later)
		k.I("CSEL EQ, R%r, R%r, R%w", k.t, later, later)
		next = k.row("Corrected", later)
		k.corrected.clear(k)
	}
	if k.decays {
		decay, step = k.row("Decays", k.t), k.GP()
		size := k.GP()
		k.I("MOVD $%d, R%w", k.Size, size)
		k.I("CMP $1, R%r", k.load("Decays.Cols"))
		k.I("CSEL EQ, ZR, R%r, R%w", size, step)
	}
	k.answers.clear(k)
	var a, q, c arm64.Vec
	k.rows(func(rows int) {
		a, q = k.take(key, rows), k.take(query, rows)
		if k.corrects {
			c = k.take(next, rows)
		}
	}, func(odd int, row arm64.GP) {
		at := odd * k.vectors * arm64.Width
		s := k.Vecs(k.vectors)
		k.LoadTo(s, row, at)
		if k.decays {
			g := k.LoadElement(decay, 0)
			k.I("ADD R%r, R%m", step, decay)
			for _, v := range s {
				k.Into(v).MulLane(v, g, 0)
			}
		}
		for j, v := range s {
			k.PlusLane(v, k.u[j], a, odd)
		}
		k.StoreAll(s, row, at)
		for j, v := range s {
			k.PlusLane(k.answers[odd][j], v, q, odd)
		}
		if k.corrects {
			for j, v := range s {
				k.PlusLane(k.corrected[odd][j], v, c, odd)
			}
		}
	})
}

// answer writes the scaled answers to an address.
func (k *kernel) answer(to arm64.GP) {
	scale, answer := k.number("Scale", k.t), k.answers.total(k)
	for j, v := range answer {
		answer[j] = k.MulLane(v, scale, 0)
	}
	if !k.corrects {
		k.addOld(fmt.Sprintf("write%d", k.loops), func() {
			old := k.Vecs(k.vectors)
			k.LoadTo(old, to, 0)
			for j, v := range answer {
				k.Into(v).Add(v, old[j])
			}
		})
	}
	k.StoreAll(answer, to, 0)
}

// addOld writes what is for passes whose outputs are added.
func (k *kernel) addOld(label string, add func()) {
	added := k.GP()
	k.I("MOVBU %d(R%r), R%w", offset("added"), k.pass, added)
	k.I("CBZ R%r, %j", added, label)
	add()
	k.Label(label)
}
