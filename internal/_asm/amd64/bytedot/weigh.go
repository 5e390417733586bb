package bytedot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

// raise goes down sixteen columns.
func (m machine) raise() {
	m.Begin("raise", "(dst, y *float32, stride, rows int)", "raises 16 numbers to what is larger in rows of y.")
	dst, y, stride, rows := amd64.Argument("dst"), amd64.Argument("y"), bytes("stride"), amd64.Argument("rows")
	peaks := m.loadAll(m.vectors(), dst)
	Label("row")
	for i, v := range m.loadAll(len(peaks), y) {
		VMAXPS(peaks[i], v, peaks[i])
	}
	ADDQ(stride, y)
	amd64.Repeat("row", rows)
	m.storeAll(peaks, dst)
	amd64.End()
}

// weigh goes down sixteen columns, four rows at a time.
func (m machine) weigh() {
	m.Begin("weigh", "(dst *uint8, step int, totals *int32, y *float32, stride int, shifts *float32, groups int)",
		"writes the weights of 4·groups rows of 16 scores as bytes, step bytes from one group to the next, and adds them to totals.")
	dst, step, y, stride, groups := amd64.Argument("dst"), amd64.Argument("step"), amd64.Argument("y"), bytes("stride"), amd64.Argument("groups")
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	n := m.vectors()
	totals, shifts := m.loadAll(n, amd64.Argument("totals")), m.loadAll(n, amd64.Argument("shifts"))
	e, t := m.exponent(), m.thresholds()
	order, one := m.register(interleave()), m.operand(constant("ones", 0x01010101))
	Label("group")
	rows := []Mem{{Base: y}, {Base: y, Index: stride, Scale: 1}, {Base: y, Index: stride, Scale: 2}, {Base: y, Index: three, Scale: 1}}
	first, second := t.next()
	for i := range n {
		x := m.Vecs(4)
		for r, from := range rows {
			VSUBPS(from.Offset(i*m.Width()), shifts[i], x[r])
			VCVTPS2DQ(x[r], x[r])
		}
		VPACKSSDW(x[1], x[0], x[0])
		VPACKSSDW(x[3], x[2], x[2])
		w0, w1 := e.weights(x[0], first), e.weights(x[2], second)
		VPACKUSWB(w1, w0, w0)
		VPSHUFB(order, w0, w0)
		m.store(w0, at(dst, i*m.Width()))
		m.sumBytes(w0, one, totals[i])
	}
	ADDQ(step, dst)
	LEAQ(Mem{Base: y, Index: stride, Scale: 4}, y)
	amd64.Repeat("group", groups)
	m.storeAll(totals, amd64.Argument("totals"))
	amd64.End()
}

// sumBytes adds the four unsigned bytes of an element to each element of sums.
func (m machine) sumBytes(v, ones, sums Op) {
	if m.Wide {
		amd64.PlusBytes(ones, v, sums)
		return
	}
	pairs := m.Vec()
	VPMADDUBSW(ones, v, pairs)
	VPMADDWD(words("wordOnes", 1), pairs, pairs)
	VPADDD(pairs, sums, sums)
}

// interleave returns an order of bytes: byte i of each of four doublewords, for i = 0 … 3.
func interleave() Mem {
	const name = "interleave"
	if _, ok := tables[name]; !ok {
		GLOBL(name, RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(0x0c080400+0x01010101*(i%4)))
		}
		tables[name] = amd64.Static(name)
	}
	return tables[name]
}

// thresholds reads what belongs to rows, four at a time.
type thresholds struct {
	machine
	table, at GPVirtual
}

func (m machine) thresholds() thresholds {
	name, of := "halves", octave.Half
	if m.Wide {
		name, of = "thresholds", octave.Threshold
	}
	GLOBL(name, RODATA|NOPTR)
	for row := range octave.Rows {
		for word := range 4 {
			DATA(8*row+2*word, U16(of(row)))
		}
	}
	t := thresholds{machine: m, table: GP64(), at: GP64()}
	LEAQ(amd64.Static(name), t.table)
	XORQ(t.at, t.at)
	return t
}

// next returns vectors with the thresholds of two rows each, four words of one and four of the other.
func (t thresholds) next() (first, second Op) {
	first, second = t.Vec(), t.Vec()
	for i, v := range []Op{first, second} {
		from := Mem{Base: t.table, Index: t.at, Scale: 1, Disp: 16 * i}
		if t.Wide {
			VBROADCASTI32X4(from, v)
		} else {
			VBROADCASTI128(from, v)
		}
	}
	ADDQ(U8(32), t.at)
	ANDQ(U32(8*octave.Rows-1), t.at)
	return first, second
}

// exponent holds the constants of 255·2^(−x) for integers x of 16 bits, in parts of an octave.
type exponent struct {
	machine
	round        Op   // a multiplication by it rounds to octaves
	coefficients []Op // of the polynomial in the rest
	// A machine without shifts that differ by element looks powers up.
	half, indices, origin, powers Op
}

func (m machine) exponent() exponent {
	e := exponent{machine: m}
	for i, c := range octave.Coefficients {
		e.coefficients = append(e.coefficients, m.operand(words([]string{"c0", "c1", "c2", "c3"}[i], c)))
	}
	if m.Wide {
		e.round = m.register(words("round", 1<<(15-octave.Bits)))
		return e
	}
	// For q octaves the power is 2^(14−q). The indices of its bytes are q and q + 8: powers below 256
	// are at 7 … 14, zeros elsewhere, and those of 256 and above are found eight places later. What is
	// below 0 octaves finds zeros, and 15 octaves, the most that a sum of words saturates to, −2¹⁵.
	e.half, e.indices, e.origin = words("half", 1<<(octave.Bits-1)), words("indices", 1<<8+1), words("origin", 8<<8)
	GLOBL("powers", RODATA|NOPTR)
	for i := range 32 {
		power := 1 << 14 >> (i % 16)
		if power > 255 {
			power = 0
		}
		DATA(i, U8(power))
	}
	e.powers = m.register(amd64.Static("powers"))
	return e
}

// weights returns a vector of weights of x with the given thresholds.
func (e exponent) weights(x, thresholds Op) Op {
	power, rest, w := e.Vec(), e.Vec(), e.Vec()
	if e.Wide {
		VPMULHRSW(e.round, x, power) // octaves
	} else {
		VPADDSW(e.half, x, power)
		VPSRAW(U8(octave.Bits), power, power)
		VPMULLW(e.indices, power, power)
		VPADDW(e.origin, power, power)
		VPSHUFB(power, e.powers, power)
	}
	VPSLLW(U8(16-octave.Bits), x, rest)
	top := len(e.coefficients) - 1
	VPMULHRSW(e.coefficients[top], rest, w)
	for i := top - 1; i > 0; i-- {
		VPADDW(e.coefficients[i], w, w)
		VPMULHRSW(rest, w, w)
	}
	VPADDW(e.coefficients[0], w, w)
	down := octave.Down
	if e.Wide {
		VPSRLVW(power, w, w)
	} else {
		VPMULHRSW(power, w, w)
		down--
	}
	VPADDW(thresholds, w, w)
	VPSRAW(U8(down), w, w)
	return w
}
