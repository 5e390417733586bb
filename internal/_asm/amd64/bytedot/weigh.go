package bytedot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

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
	e := m.exponent()
	order, one := m.register(interleave()), m.operand(constant("ones", 0x01010101))
	Label("group")
	rows := []Mem{{Base: y}, {Base: y, Index: stride, Scale: 1}, {Base: y, Index: stride, Scale: 2}, {Base: y, Index: three, Scale: 1}}
	for i := range n {
		x := m.Vecs(4)
		for r, from := range rows {
			VSUBPS(from.Offset(i*m.Width()), shifts[i], x[r])
			VCVTPS2DQ(x[r], x[r])
		}
		VPACKSSDW(x[1], x[0], x[0])
		VPACKSSDW(x[3], x[2], x[2])
		w0, w1 := e.weights(x[0]), e.weights(x[2])
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

// exponent holds the constants of 255·2^(−x) for integers x of 16 bits, in parts of an octave.
type exponent struct {
	machine
	round        Op   // a multiplication by it rounds to octaves
	top          Op   // the power of two that belongs to 0 octaves
	coefficients []Op // of the polynomial in the rest
	// A machine without shifts that differ by element looks powers up.
	half   Op
	powers [2]Op // lower and upper bytes
}

func (m machine) exponent() exponent {
	e := exponent{machine: m}
	for i, c := range octave.Coefficients {
		e.coefficients = append(e.coefficients, m.operand(words([]string{"c0", "c1", "c2", "c3"}[i], c)))
	}
	if m.Wide {
		e.round = m.register(words("round", 1<<(15-octave.Bits)))
		e.top = m.register(words("top", octave.Top))
		return e
	}
	// One octave more than the number is the index: that of upper bytes is 0, which finds 0.
	e.half = words("half", 3<<(octave.Bits-1))
	for b := range e.powers {
		name := []string{"lowerPowers", "upperPowers"}[b]
		GLOBL(name, RODATA|NOPTR)
		for i := range 32 {
			power := 0
			if i%16 > 0 {
				power = octave.Top >> (i%16 - 1) >> (8 * b) & 255
			}
			DATA(i, U8(power))
		}
		e.powers[b] = m.register(amd64.Static(name))
	}
	return e
}

// weights replaces x by a new vector of weights.
func (e exponent) weights(x Op) Op {
	power, rest, w := e.Vec(), e.Vec(), e.Vec()
	if e.Wide {
		VPMULHRSW(e.round, x, power)
		VPSRLVW(power, e.top, power)
	} else {
		upper := e.Vec()
		VPADDSW(e.half, x, power)
		VPSRAW(U8(octave.Bits), power, power)
		VPSHUFB(power, e.powers[1], upper)
		VPSHUFB(power, e.powers[0], power)
		VPSLLW(U8(8), upper, upper)
		VPOR(upper, power, power)
	}
	VPSLLW(U8(16-octave.Bits), x, rest)
	top := len(e.coefficients) - 1
	VPMULHRSW(e.coefficients[top], rest, w)
	for i := top - 1; i > 0; i-- {
		VPADDW(e.coefficients[i], w, w)
		VPMULHRSW(rest, w, w)
	}
	VPADDW(e.coefficients[0], w, w)
	VPMULHRSW(power, w, w)
	return w
}
