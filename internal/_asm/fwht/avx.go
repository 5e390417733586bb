package fwht

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
)

type avx struct {
	amd64.Vectors
	masked bool // cores take any number of columns: they mask the last vector
}

// WriteAMD64 writes the kernels of amd64.
func WriteAMD64() {
	for _, general := range amd64.Machines {
		m := avx{Vectors: amd64.Vectors{Machine: general}}
		m.constants()
		k := writer[Op, Register]{m, 3, 4, 2, 2}
		if m.Wide {
			k = writer[Op, Register]{m, 4, 8, 4, 8}
		}
		k.write()
		if m.Wide {
			// Shorter vectors with as many registers are for few columns.
			shorter := m
			shorter.Log--
			shorter.Name += "Y"
			shorter.masked = true
			for _, h := range terms.Orders {
				k.machine = m
				k.core(h, terms.Of(h))
				k.machine = shorter
				k.core(h, terms.Of(h))
			}
		}
	}
}

func (m avx) label(s int) string {
	return fmt.Sprintf("sign%d%s", s, strings.TrimRight(m.Name, "Y"))
}

// constants writes the sign bit and the vectors of signs.
func (m avx) constants() {
	m.Table("negative"+m.Name, 1, func(int) uint64 { return 1 << (8*m.Size - 1) })
	for s := range m.Log {
		m.Table(m.label(s), m.Lanes(), func(i int) uint64 { return m.Bits(float64(1 - i>>s&1*2)) })
	}
}

func (m avx) signs(n int) []Op {
	ops := make([]Op, n)
	for s := range ops {
		ops[s] = m.Move(amd64.Static(m.label(s)))
	}
	return ops
}

func (m avx) exchange(s int, x Op) Op {
	v := m.Vec()
	switch m.Size << s {
	case 4:
		VPERMILPS(U8(0xb1), x, v)
	case 8:
		if m.Size == 4 {
			VPERMILPS(U8(0x4e), x, v)
		} else {
			VPERMILPD(U8(0x55&(1<<m.Lanes()-1)), x, v)
		}
	case 16:
		if m.Wide {
			VSHUFF64X2(U8(0xb1), x, x, v)
		} else {
			VPERM2F128(U8(0x01), x, x, v)
		}
	default:
		VSHUFF64X2(U8(0x4e), x, x, v)
	}
	return v
}

// differences returns a fused multiply-add a − 1·b except in the first stage. Fused multiply-adds
// and additions issue on different ports, but stores get in the way of both. This share of fused
// operations, in runs of one kind, is the fastest on the machines measured.
func (m avx) differences() (difference func(a, b Op, h int) Op, negated func(a, b Op) Op) {
	one := m.Broadcast(amd64.Static(m.label(0)))
	difference = func(a, b Op, h int) Op {
		if h == 1 {
			return m.Sub(a, b)
		}
		m.TimesFrom(a, one, b)
		return b
	}
	negated = func(a, b Op) Op {
		v := m.Move(a)
		m.TimesNegated(b, one, v)
		return v
	}
	return difference, negated
}

func (m avx) loadBlock(v []Op, first int, b elementBlock[Register]) {
	for i := range v {
		at := (first + i) * m.Width()
		v[i] = m.Load(b.src, at)
		if b.kind == streaming && at%line == 0 {
			PREFETCHT1(Mem{Base: b.src, Index: b.ahead, Scale: 1, Disp: at})
		}
		if b.kind == signed {
			m.Mul(v[i], Mem{Base: b.factor, Disp: at}, v[i])
		}
	}
}

func (m avx) lastStage(k writer[Op, Register], v []Op, h int, difference func(a, b Op, h int) Op, dst Register) {
	k.butterflies(v, h, difference, func(i int) { m.Store(v[i], dst, i*m.Width()) })
}

func (m avx) passes(r int, p, stride, columns, count Register, body func(load func(i int) Op, store func(v Op, i int))) {
	triple := amd64.Triple(stride)
	quad := m.CopyOf(stride)
	SHLQ(U8(2), quad)

	Label("block")
	left := m.CopyOf(columns)
	rows := []Register{m.CopyOf(p)}
	for i := 4; i < 1<<r; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: rows[len(rows)-1], Index: quad, Scale: 1}, next)
		rows = append(rows, next)
	}
	at := func(i int) Mem { return amd64.Row(i%4, rows[i/4], stride, triple) }

	Label("column")
	body(func(i int) Op { return m.Move(at(i)) }, func(v Op, i int) { m.Move(v, at(i)) })
	for _, row := range rows {
		m.Advance(row, m.Width())
	}
	m.RepeatBy("column", left, m.Width())
	for range 1 << r {
		ADDQ(stride, p)
	}
	m.Repeat("block", count)
}

type avxWalk struct {
	avx
	p, stride, triple Register
}

func (m avx) walk(stride Register) func(p Register) walk[Op] {
	triple := amd64.Triple(stride)
	return func(p Register) walk[Op] { return avxWalk{m, p, stride, triple} }
}

func (w avxWalk) next() { LEAQ(Mem{Base: w.p, Index: w.stride, Scale: 4}, w.p) }

func (w avxWalk) load(i int) Op {
	from := amd64.Row(i, w.p, w.stride, w.triple)
	if !w.masked {
		return w.Move(from)
	}
	v := w.Vec()
	w.LoadMasked(K1, from, v)
	return v
}

func (w avxWalk) store(v Op, i int) {
	to := amd64.Row(i, w.p, w.stride, w.triple)
	if w.masked {
		w.StoreMasked(K1, v, to)
	} else {
		w.Move(v, to)
	}
}

func (m avx) columns(left Register) {
	if m.masked {
		n, lanes := m.CopyOf(left), GP64()
		SHRQ(U8(m.Shift()), n)
		MOVQ(U32(m.Lanes()), lanes)
		CMPQ(n, lanes)
		CMOVQGT(lanes, n)
		m.Mask(n, nil)
	}
}

func (m avx) combine(k writer[Op, Register]) {
	g, x, stride, count := k.beginCombine()
	rows := m.walk(stride)(x)
	mask := m.Broadcast(amd64.Static("negative" + m.Name))
	Label("loop")
	for i, v := range k.combinations(rows.load) {
		m.Store(v, g, i*m.Width())
		negative := m.Vec()
		VXORPS(v, mask, negative)
		m.Store(negative, g, (8+i)*m.Width())
	}
	m.Advance(g, 16*m.Width())
	rows.next()
	m.Repeat("loop", count)
	m.End()
}

func (m avx) sums() {
	m.Begin("sums", signatureOfSums, docOfSums)
	y, stride := m.Argument("y"), m.Argument("stride")
	g, terms := m.Argument("groups"), m.Argument("terms")
	n, count := m.Argument("n"), m.Argument("count")
	m.InBytes(stride)
	Label("rows")
	acc := m.Vecs(4)
	at := GP64()
	rows := []Register{terms, GP64(), GP64(), GP64()}
	for i, row := range rows[1:] {
		LEAQ(Mem{Base: rows[i], Index: n, Scale: 2}, row)
	}
	vector := func(i int) Mem {
		o := GP64()
		MOVWQZX(Mem{Base: rows[i], Index: at, Scale: 2}, o)
		SHLQ(U8(m.Log+m.Shift()), o)
		return Mem{Base: g, Index: o, Scale: 1}
	}
	XORQ(at, at)
	for i := range acc {
		m.Move(vector(i), acc[i])
	}
	Label("terms")
	INCQ(at)
	CMPQ(at, n)
	JGE(LabelRef("store"))
	for i := range acc {
		m.Add(acc[i], vector(i), acc[i])
	}
	m.Jump("terms")
	Label("store")
	for _, v := range acc {
		m.Store(v, y, 0)
		ADDQ(stride, y)
	}
	MOVQ(rows[3], terms)
	LEAQ(Mem{Base: terms, Index: n, Scale: 2}, terms)
	m.Repeat("rows", count)
	m.End()
}

func (m avx) times() {
	m.Begin("times", signatureOfTimes, docOfTimes)
	dst, x, f, count := m.Argument("dst"), m.Argument("x"), m.Argument("f"), m.Argument("count")
	Label("loop")
	v := m.Load(x, 0)
	m.Store(m.Mul(v, Mem{Base: f}, v), dst, 0)
	for _, p := range []Register{dst, x, f} {
		m.Advance(p, m.Width())
	}
	m.Repeat("loop", count)
	m.End()
}
