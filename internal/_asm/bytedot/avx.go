package bytedot

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// avx is a machine of amd64, which has VPDPBUSD unless words is true. Four rows are the address of
// the first row, the bytes from row to row, and three times that.
type avx struct {
	amd64.Vectors
	words bool
}

// WriteAMD64 writes the kernels of amd64.
func WriteAMD64() {
	for _, i := range []int{0, 2} {
		m := avx{Vectors: amd64.Vectors{Machine: amd64.Machines[i]}}
		m.Name = m.Name[3:]
		write[Op, Register](m)
		if !m.Wide {
			m.widen()
			m.words = true
			writeProducts("wideScores", "wideAdd", writer[Op, Register]{m})
		}
	}
}

func (m avx) vectors() int { return lanes >> m.Log }

func (m avx) columns(sixteens int) (vectors, parts int) {
	if m.Wide {
		return sixteens, 1
	}
	return m.vectors(), sixteens
}

func (m avx) held() bool { return m.Wide }

func (m avx) counter(n int) Register {
	r := GP64()
	MOVQ(U32(n), r)
	return r
}

func (m avx) advanceArgument(name string, bytes int) { ADDQ(U32(bytes), amd64.Number(name)) }

func (m avx) advanceTimes(p, bytes Register, times int) {
	if times == 1 {
		ADDQ(bytes, p)
	} else {
		LEAQ(Mem{Base: p, Index: bytes, Scale: uint8(times)}, p)
	}
}

func (m avx) less(count Register, n int, label string) {
	SUBQ(U8(n), count)
	JLT(LabelRef(label))
}

func (m avx) notLess(count Register, n int, label string) {
	SUBQ(U8(n), count)
	JGE(LabelRef(label))
}

func (m avx) none(count Register, n int, label string) {
	ADDQ(U8(n), count)
	JZ(LabelRef(label))
}

func (m avx) times(a Register, n int) Register {
	r := GP64()
	IMUL3Q(U32(n), a, r)
	return r
}

func (m avx) load(n int, p Register) []Op {
	v := m.operands(n, p)
	for i := range v {
		v[i] = m.Move(v[i])
	}
	return v
}

func (m avx) operands(n int, p Register) []Op {
	all := make([]Op, n)
	for i := range all {
		all[i] = Mem{Base: p, Disp: i * m.Width()}
	}
	return all
}

func (m avx) store(v []Op, p Register) {
	for i := range v {
		m.Store(v[i], p, i*m.Width())
	}
}

func (m avx) spread(n int, p Register) []Op {
	v := make([]Op, n)
	for i := range v {
		v[i] = m.Broadcast(Mem{Base: p})
	}
	m.Advance(p, 4)
	return v
}

func (m avx) four(p, stride Register) []Register {
	return []Register{p, stride, amd64.Triple(stride)}
}

func (m avx) at(rows []Register, i, offset int) Op {
	return amd64.Row(i, rows...).Offset(offset)
}

func (m avx) nextFour(rows []Register, stride Register) { m.advanceTimes(rows[0], stride, 4) }

// raise keeps the peak if v is NaN.
func (m avx) raise(peak, v Op) { m.Max(v, peak, peak) }

func (m avx) magnitude() Op { return m.operand(constant("absolute", math.MaxInt32)) }

func (m avx) largest(into, v Op) { VPMAXUD(v, into, into) }

func (m avx) storeLargest(v Op, p Register) { m.storeFold(VPMAXUD, v, p) }
func (m avx) storeSum(v Op, p Register)     { m.storeFold(VPADDD, v, p) }

func (m avx) storeFold(combine func(ops ...Op), v Op, p Register) {
	VMOVD(m.Fold(combine, v.(Vec), m.Vec()), Mem{Base: p})
}

func (m avx) first(p Register) Op {
	v := m.Vec()
	VMOVD(Mem{Base: p}, v.AsX())
	return v
}

func (m avx) toFloats(v Op) { VCVTDQ2PS(v, v) }

// multiplier multiplies four bytes at a time, or words: the even bytes of B and the odd ones as 16
// bits by the even and the odd ones of A as [avx.widen] has them.
func (m avx) multiplier() func(left []Register, b Register, sums [][]Op) {
	if !m.words {
		plus := amd64.PlusBytesVEX
		if m.Wide {
			plus = amd64.PlusBytes
		}
		return func(left []Register, b Register, sums [][]Op) {
			columns := m.load(len(sums[0]), b)
			for i, row := range sums {
				four := m.Broadcast(m.at(left, i, 0))
				for j, s := range row {
					plus(four, columns[j], s)
				}
			}
		}
	}
	return func(left []Register, b Register, sums [][]Op) {
		even, odd := m.load(len(sums[0]), b), m.Vecs(len(sums[0]))
		for j := range even {
			VPSRLW(U8(8), even[j], odd[j])
			VPAND(constant("evenBytes", 0x00ff00ff), even[j], even[j])
		}
		for i, row := range sums {
			for h, columns := range [][]Op{even, odd} {
				two := m.Broadcast(m.at(left, i, 4*h))
				for j, s := range row {
					products := m.Vec()
					VPMADDWD(two, columns[j], products)
					VPADDD(products, s, s)
				}
			}
		}
	}
}

func (m avx) leftRows(a, row Register, rows int) []Register {
	if rows == 1 {
		return []Register{m.CopyOf(a)}
	}
	return m.four(m.CopyOf(a), row)
}

func (m avx) nextGroup(left []Register, group Register) { ADDQ(group, left[0]) }

func (m avx) rowCodes() func(v []Op, to Register, sum Op) {
	return func(v []Op, to Register, sum Op) {
		for _, v := range v {
			VCVTPS2DQ(v, v)
			VPADDD(v, sum, sum)
		}
		if m.Wide {
			VPMOVSDB(v[0], Mem{Base: to})
			return
		}
		VPACKSSDW(v[1], v[0], v[0]) // elements 0 … 3, 8 … 11, 4 … 7, 12 … 15
		VPERMQ(U8(0b11_01_10_00), v[0], v[0])
		upper := XMM()
		VEXTRACTI128(U8(1), v[0], upper)
		lower := v[0].(VecVirtual).AsX()
		VPACKSSWB(upper, lower, lower)
		VMOVDQU(lower, Mem{Base: to})
	}
}

func (m avx) columnCodes() func(v []Op, sum Op) Op {
	order, ones := m.register(interleave()), m.register(constant("ones", 0x01010101))
	return func(v []Op, sum Op) Op {
		code := m.pack(v[0], v[1])
		VPACKSSWB(m.pack(v[2], v[3]), code, code)
		VPSHUFB(order, code, code)
		m.sumBytes(code, ones, sum)
		return code
	}
}

// pack rounds a and b to integers of 16 bits in the register of a.
func (m avx) pack(a, b Op) Op {
	VCVTPS2DQ(a, a)
	VCVTPS2DQ(b, b)
	VPACKSSDW(b, a, a)
	return a
}

// sumBytes adds, in each element, the products of four signed bytes of a and unsigned ones of b.
func (m avx) sumBytes(a, b, sums Op) {
	if m.Wide {
		amd64.PlusBytes(a, b, sums)
		return
	}
	pairs := m.Vec()
	VPMADDUBSW(a, b, pairs)
	VPMADDWD(words("wordOnes", 1), pairs, pairs)
	VPADDD(pairs, sums, sums)
}

func (m avx) transposed(from, row Register) []Op {
	n := m.Lanes()
	x := m.Registers()[:n]
	for _, v := range x {
		m.Machine.Move(Mem{Base: from}, v)
		ADDQ(row, from)
	}
	x, _ = m.Transpose(x, m.Registers()[n:])
	columns := make([]Op, n)
	for i, v := range x {
		columns[i] = v
	}
	return columns
}

func (m avx) flipper() func(v Op) {
	return func(v Op) { m.Xor(v, constant("signs", 0x80808080), v) }
}

func (m avx) widen() {
	m.Begin("widen", "(dst, src *int8, sixteens int)", "writes 16·sixteens bytes as words, of each four the first, the third, the second and the fourth.")
	dst, src, left := m.Argument("dst"), m.Argument("src"), m.Argument("sixteens")
	v := m.Vec()
	Label("sixteen")
	VPMOVSXBW(Mem{Base: src}, v)
	VPSHUFLW(U8(0b11_01_10_00), v, v)
	VPSHUFHW(U8(0b11_01_10_00), v, v)
	m.Store(v, dst, 0)
	m.Advance(src, lanes)
	m.Advance(dst, 2*lanes)
	m.Repeat("sixteen", left)
	m.End()
}

var tables = map[string]Mem{}

// constant returns the address of 64 bytes that repeat a doubleword.
func constant(name string, bits uint32) Mem {
	return table(name, func(int) uint32 { return bits })
}

// table returns the address of 16 doublewords.
func table(name string, doubleword func(i int) uint32) Mem {
	if _, ok := tables[name]; !ok {
		GLOBL(name, RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(doubleword(i)))
		}
		tables[name] = amd64.Static(name)
	}
	return tables[name]
}

// words repeats an integer of 16 bits.
func words(name string, v int16) Mem {
	return constant(name, uint32(uint16(v))*0x10001)
}

// operand returns constants as an operand: a register if there are enough, otherwise memory.
func (m avx) operand(c Mem) Op {
	if !m.Wide {
		return c
	}
	return m.register(c)
}

func (m avx) register(c Mem) Op { return m.Move(c) }
