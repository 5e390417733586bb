package bytedot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

func (m avx) weigher() weigher[Op] {
	weights, thresholds := m.exponential(), m.thresholds()
	order, ones := m.register(interleave()), m.operand(constant("ones", 0x01010101))
	return weigher[Op]{thresholds, m.pack, weights, func(a, b, total Op) Op {
		VPACKUSWB(b, a, a)
		VPSHUFB(order, a, a)
		m.sumBytes(ones, a, total)
		return a
	}}
}

// interleave returns an order of bytes: byte i of each of four doublewords, for i = 0 … 3.
func interleave() Mem {
	return table("interleave", func(i int) uint32 { return 0x0c080400 + 0x01010101*uint32(i%4) })
}

// thresholds returns a function for the thresholds of the next four rows. Half of a vector has four
// words for each of two rows, and so has the other half.
func (m avx) thresholds() func() [2]Op {
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
	table, at := GP64(), m.counter(0)
	LEAQ(amd64.Static(name), table)
	return func() (v [2]Op) {
		for i := range v {
			v[i] = m.Vec()
			from := Mem{Base: table, Index: at, Scale: 1, Disp: 16 * i}
			if m.Wide {
				VBROADCASTI32X4(from, v[i])
			} else {
				VBROADCASTI128(from, v[i])
			}
		}
		ADDQ(U8(32), at)
		ANDQ(U32(8*octave.Rows-1), at)
		return v
	}
}

// exponential returns a function for 255·2^(−x) plus thresholds. x are integers of 16 bits, in
// parts of an octave.
func (m avx) exponential() func(x, thresholds Op) Op {
	var coefficients []Op // of the polynomial in the rest of x after its octaves
	for i, c := range octave.Coefficients {
		coefficients = append(coefficients, m.operand(words([]string{"c0", "c1", "c2", "c3"}[i], c)))
	}
	power, down := m.powers(), octave.Down
	if !m.Wide {
		down--
	}
	return func(x, thresholds Op) Op {
		p, rest, w := power(x), m.Vec(), m.Vec()
		VPSLLW(U8(16-octave.Bits), x, rest)
		top := len(coefficients) - 1
		VPMULHRSW(coefficients[top], rest, w)
		for i := top - 1; i > 0; i-- {
			VPADDW(coefficients[i], w, w)
			VPMULHRSW(rest, w, w)
		}
		VPADDW(coefficients[0], w, w)
		if m.Wide {
			VPSRLVW(p, w, w)
		} else {
			VPMULHRSW(p, w, w)
		}
		VPADDW(thresholds, w, w)
		VPSRAW(U8(down), w, w)
		return w
	}
}

// powers returns a function for the octaves q of x on a wide machine, and for 2^(14−q) on another,
// which lacks shifts that differ by element.
func (m avx) powers() func(x Op) Op {
	if m.Wide {
		// a multiplication by it rounds to octaves
		round := m.register(words("round", 1<<(15-octave.Bits)))
		return func(x Op) Op {
			q := m.Vec()
			VPMULHRSW(round, x, q)
			return q
		}
	}
	// The indices of the bytes of a power are q and q + 8: powers below 256 are at 7 … 14, zeros
	// elsewhere, and powers of 256 and above are found eight places later. Negative octaves find
	// zeros, and 15 octaves, the most that a sum of words saturates to, find −2¹⁵.
	half, indices, origin := words("half", 1<<(octave.Bits-1)), words("indices", 1<<8+1), words("origin", 8<<8)
	GLOBL("powers", RODATA|NOPTR)
	for i := range 32 {
		power := 1 << 14 >> (i % 16)
		if power > 255 {
			power = 0
		}
		DATA(i, U8(power))
	}
	powers := m.register(amd64.Static("powers"))
	return func(x Op) Op {
		p := m.Vec()
		VPADDSW(half, x, p)
		VPSRAW(U8(octave.Bits), p, p)
		VPMULLW(indices, p, p)
		VPADDW(origin, p, p)
		VPSHUFB(p, powers, p)
		return p
	}
}
