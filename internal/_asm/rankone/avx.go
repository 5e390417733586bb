package rankone

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// avx is a machine of amd64. Rows of tokens are the address of the first row, the bytes from row to
// row, three times that, and the address of the row after the fourth.
type avx struct {
	amd64.Vectors
	free []VecPhysical // registers that accumulators has not returned
	pass Register
}

// WriteAMD64 writes the kernels of amd64.
func WriteAMD64() {
	Package("github.com/seed-feabd252/randfeat/internal/compute/rankone")
	for _, general := range amd64.Machines {
		m := &avx{Vectors: amd64.Vectors{Machine: general}}
		if !m.Wide {
			write[Op, Register, Mem](m, 1)
			continue
		}
		write[Op, Register, Mem](m, 2)
		m.together()
	}
}

func (m *avx) open() { m.free, m.pass = m.Registers(), amd64.Argument("p") }

func (m *avx) accumulators(n int) []Op {
	all := make([]Op, n)
	for i := range all {
		all[i] = m.free[i]
	}
	m.free = m.free[n:]
	return all
}

func (m *avx) clear(v Op) { m.Clear(v) }

func (m *avx) counter() Register {
	n := GP64()
	XORQ(n, n)
	return n
}

func (m *avx) next(t Register, field, label string) {
	INCQ(t)
	CMPQ(t, m.field(field))
	JLT(LabelRef(label))
}

func (m *avx) following(t Register, field string) Register {
	next := GP64()
	LEAQ(Mem{Base: t, Disp: 1}, next)
	CMPQ(next, m.field(field))
	CMOVQEQ(t, next)
	return next
}

func (m *avx) unlessAdded(label string) {
	CMPB(m.field("added"), U8(0))
	JEQ(LabelRef(label))
}

func (m *avx) field(path string) Mem { return Mem{Base: m.pass, Disp: offset(path)} }

func (m *avx) load(path string) Register {
	v := GP64()
	MOVQ(m.field(path), v)
	return v
}

func (m *avx) distance(from, to string) Register {
	d := m.load(to)
	SUBQ(m.field(from), d)
	return d
}

func (m *avx) row(matrix string, t Register) Register {
	at, stride := m.load(matrix+".Data"), m.load(matrix+".Stride")
	IMULQ(t, stride)
	m.skip(at, stride)
	return at
}

func (m *avx) skip(p, elements Register) {
	LEAQ(Mem{Base: p, Index: elements, Scale: uint8(m.Size)}, p)
}

func (m *avx) reusable(p Register) Register { return p }

func (m *avx) loadAll(into []Op, r []Register, j, offset int) {
	for x, v := range into {
		m.Machine.Move(amd64.Row(j, r...).Offset(offset+x*m.Width()), v)
	}
}

func (m *avx) loadScaled(into []Op, r []Register, j int, by number[Op]) {
	for x, v := range into {
		m.Machine.Mul(amd64.Row(j, r...).Offset(x*m.Width()), by.v, v)
	}
}

func (m *avx) loadBehind(into []Op, row, distance Register) {
	for x, v := range into {
		m.Machine.Move(Mem{Base: row, Disp: x * m.Width(), Index: distance, Scale: 1}, v)
	}
}

func (m *avx) addAll(into []Op, r []Register, j int) {
	for x, v := range into {
		m.Machine.Add(amd64.Row(j, r...).Offset(x*m.Width()), v, v)
	}
}

func (m *avx) storeAll(v []Op, r []Register, j, offset int) {
	for x, v := range v {
		m.Machine.Move(v, amd64.Row(j, r...).Offset(offset+x*m.Width()))
	}
}

func (m *avx) element(r []Register, j, offset int) number[Op] {
	return number[Op]{v: m.Broadcast(amd64.Row(j, r...).Offset(offset))}
}

func (m *avx) scale(v []Op, by number[Op]) {
	for _, v := range v {
		m.Machine.Mul(by.v, v, v)
	}
}

func (m *avx) addScaled(into, v []Op, by number[Op]) {
	for x, sum := range into {
		m.Plus(v[x], by.v, sum)
	}
}

func (m *avx) subScaled(into, v []Op, by number[Op]) {
	for x, sum := range into {
		m.Minus(by.v, v[x], sum)
	}
}

func (m *avx) addRow(into []Op, row Register, offset int, by number[Op]) {
	for x, sum := range into {
		m.Plus(Mem{Base: row, Disp: offset + x*m.Width()}, by.v, sum)
	}
}

func (m *avx) decaysOf(t Register) decays[Register] {
	d := decays[Register]{m.row("Decays", t), GP64()}
	zero := m.counter()
	MOVQ(U32(m.Size), d.step)
	CMPQ(m.field("Decays.Cols"), U8(1))
	CMOVQEQ(zero, d.step)
	return d
}

func (m *avx) decayed(into []Op, row Register, offset, odd int, d decays[Register]) {
	at := Mem{Base: d.at}
	if odd == 1 {
		at.Index, at.Scale = d.step, 1
	}
	g := m.Broadcast(at)
	for x, v := range into {
		m.Machine.Mul(Mem{Base: row, Disp: offset + x*m.Width()}, g, v)
	}
}

func (m *avx) rows(id, vectors int, coefficients []Register, d *decays[Register], token *Register, body func(odd int, row Register, of func(c int) number[Op])) {
	prefetch := func(odd int, i Register) {}
	if token != nil {
		prefetch = m.prefetcher(*token, vectors)
	}
	pair, last, done := fmt.Sprintf("pair%d", id), fmt.Sprintf("last%d", id), fmt.Sprintf("done%d", id)
	row, i, pairs := m.load("S"), m.counter(), m.load("Rows")
	each := func(odd int) {
		prefetch(odd, i)
		body(odd, row, func(c int) number[Op] {
			return number[Op]{v: m.Broadcast(Mem{Base: coefficients[c], Index: i, Scale: uint8(m.Size), Disp: odd * m.Size})}
		})
	}
	DECQ(pairs)
	JLE(LabelRef(last))
	Label(pair)
	each(0)
	each(1)
	ADDQ(I32(2*vectors*m.Width()), row)
	if d != nil {
		LEAQ(Mem{Base: d.at, Index: d.step, Scale: 2}, d.at)
	}
	ADDQ(I8(2), i)
	CMPQ(i, pairs)
	JLT(LabelRef(pair))
	Label(last)
	JNE(LabelRef(done))
	each(0)
	Label(done)
}

// prefetcher returns a function that prefetches the rows of keys, queries, values and outputs of
// the token after the next, which may be beyond the end. The function spreads the prefetches over
// the rows of S: all at once would fill the buffers for lines on their way, and wait.
func (m *avx) prefetcher(token Register, vectors int) func(odd int, i Register) {
	t := GP64()
	LEAQ(Mem{Base: token, Disp: 2}, t)
	coefficients := []Register{m.row("K", t), m.row("Q", t)}
	columns := []Register{m.row("V", t), m.row("Out", t)}
	return func(odd int, i Register) {
		PREFETCHT0(Mem{Base: coefficients[odd], Index: i, Scale: uint8(m.Size)})
		// A row of a panel is a cache line a vector, and spread over 64 rows or fewer.
		PREFETCHT0(Mem{Base: columns[odd], Index: i, Scale: uint8(vectors)})
	}
}

func (m *avx) local() Mem                 { return AllocLocal(8) }
func (m *avx) reset(l Mem)                { MOVQ(I32(0), l) }
func (m *avx) set(l Mem, value Register)  { MOVQ(value, l) }
func (m *avx) plus(p Register, l Mem)     { ADDQ(l, p) }
func (m *avx) increase(l Mem, n Register) { ADDQ(n, l) }
func (m *avx) repeat(label string, l Mem) { amd64.Repeat(label, l) }

func (m *avx) get(l Mem) Register {
	v := GP64()
	MOVQ(l, v)
	return v
}

func (m *avx) until(label string, l Mem, n int, limit Register) {
	v := m.get(l)
	ADDQ(I32(n), v)
	MOVQ(v, l)
	CMPQ(v, limit)
	JLT(LabelRef(label))
}

func (m *avx) ifOne(l Mem, label string) {
	CMPQ(l, U8(1))
	JEQ(LabelRef(label))
}

func (m *avx) rowsFrom(first Register, matrix string, _ int) []Register {
	r := []Register{first, m.load(matrix + ".Stride"), GP64(), GP64()}
	SHLQ(U8(m.Shift()), r[1])
	LEAQ(Mem{Base: r[1], Index: r[1], Scale: 2}, r[2])
	LEAQ(Mem{Base: r[0], Index: r[1], Scale: 4}, r[3])
	return r
}

func (m *avx) advance(r []Register, bytes int) {
	ADDQ(I8(bytes), r[0])
	ADDQ(I8(bytes), r[3])
}

func (m *avx) prefetch(r []Register, j, bytes int) {
	for i := 0; i < bytes; i += 64 {
		PREFETCHT0(amd64.Row(j, r[3], r[1], r[2]).Offset(i))
	}
}

func (m *avx) byTwo(left Register, suffix string, pair, one func()) {
	SUBQ(U8(2), left)
	JLT(LabelRef("last" + suffix))
	Label("pair" + suffix)
	pair()
	SUBQ(U8(2), left)
	JGE(LabelRef("pair" + suffix))
	Label("last" + suffix)
	CMPQ(left, I8(-1))
	JNE(LabelRef("done" + suffix))
	one()
	Label("done" + suffix)
}
