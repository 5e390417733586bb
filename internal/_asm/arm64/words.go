package arm64

import "fmt"

// word is an instruction that Go's assembler does not know: its bits without registers, and its
// text as GNU's assembler has it.
type word struct {
	bits uint32
	// shifts[i] is where the number of the i-th register goes.
	shifts []int
	// text has a %d for each register.
	text string
}

// Places of the numbers of registers in an instruction.
const (
	first  = 0  // Rd, or Rt
	second = 5  // Rn
	third  = 16 // Rm
)

// W writes a word. For each operand, a register, uses has an r if it is read, a w if it is written
// and an m if it is both.
func (m Machine) W(w word, uses string, operands ...any) {
	i := instruction{word: &w}
	for k, operand := range operands {
		i.use(uses[k], number(operand))
	}
	m.fn.code = append(m.fn.code, i)
}

func (i *instruction) use(verb byte, register int) {
	if verb != 'w' {
		i.reads = append(i.reads, register)
	}
	if verb != 'r' {
		i.writes = append(i.writes, register)
	}
	i.parts = append(i.parts, register)
}

func (w word) encode(registers []int) string {
	bits, numbers := w.bits, make([]any, len(registers))
	for i, r := range registers {
		bits |= uint32(r) << w.shifts[i]
		numbers[i] = r
	}
	return fmt.Sprintf("WORD $0x%08x // %s", bits, fmt.Sprintf(w.text, numbers...))
}

// The bits of instructions on vectors of float32; those on float64 have bit 22 besides.
const (
	fadd  = 0x4e20d400
	fsub  = 0x4ea0d400
	fmul  = 0x6e20dc00
	fdiv  = 0x6e20fc00
	fmax  = 0x4e20f400
	fmin  = 0x4ea0f400
	fcmeq = 0x4e20e400
	fcmge = 0x6e20e400
	fcmgt = 0x6ea0e400
	faddp = 0x6e20d400
	fmaxp = 0x6e20f400
	fabs  = 0x4ea0f800
	fneg  = 0x6ea0f800
	fsqrt = 0x6ea1f800

	fmaxnm = 0x4e20c400
	fminnm = 0x4ea0c400
	fcvtns = 0x4e21a800
)

func (m Machine) lanes() string { return Of(m, "4s", "2d") }

// words of floating-point instructions with two and three registers.

func (m Machine) unary(name string, bits uint32) word {
	a := m.lanes()
	return word{bits | Of(m, uint32(0), 1<<22), []int{first, second}, fmt.Sprintf("%s v%%d.%s, v%%d.%s", name, a, a)}
}

func (m Machine) binary(name string, bits uint32) word {
	a := m.lanes()
	return word{bits | Of(m, uint32(0), 1<<22), []int{first, second, third}, fmt.Sprintf("%s v%%d.%s, v%%d.%s, v%%d.%s", name, a, a, a)}
}

// element returns the word of an instruction whose third register gives one lane for all.
func (m Machine) element(name string, bits uint32, lane int) word {
	if m.Size == 4 {
		bits |= uint32(lane&1<<21 | lane>>1<<11)
	} else {
		bits |= uint32(1<<22 | lane<<11)
	}
	a := m.lanes()
	return word{bits, []int{first, second, third}, fmt.Sprintf("%s v%%d.%s, v%%d.%s, v%%d.%s[%d]", name, a, a, a[1:], lane)}
}

func (m Machine) shiftRight(n int) word {
	a := m.lanes()
	return word{0x4f000400 | uint32(16*m.Size-n)<<16, []int{first, second}, fmt.Sprintf("sshr v%%d.%s, v%%d.%s, #%d", a, a, n)}
}

var (
	orNot          = word{0x4ee01c00, []int{first, second, third}, "orn v%d.16b, v%d.16b, v%d.16b"}
	least          = word{0x6eb1a800, []int{first, second}, "uminv s%d, v%d.4s"}
	most           = word{0x6eb0a800, []int{first, second}, "umaxv s%d, v%d.4s"}
	accumulateInts = word{0x4e606800, []int{first, second}, "sadalp v%d.4s, v%d.8h"}
	dotBytes       = word{0x4e809400, []int{first, second, third}, "sdot v%d.4s, v%d.16b, v%d.16b"}
	mulBytes       = word{0x0e20c000, []int{first, second, third}, "smull v%d.8h, v%d.8b, v%d.8b"}
	mulUpperBytes  = word{0x4e20c000, []int{first, second, third}, "smull2 v%d.8h, v%d.16b, v%d.16b"}
	mulAdd         = word{0x0e608000, []int{first, second, third}, "smlal v%d.4s, v%d.4h, v%d.4h"}
	mulAddUpper    = word{0x4e608000, []int{first, second, third}, "smlal2 v%d.4s, v%d.8h, v%d.8h"}
	// toIntegers rounds float32 to the nearest integers of 32 bits, to even ones in the middle.
	toIntegers    = word{0x4e21a800, []int{first, second}, "fcvtns v%d.4s, v%d.4s"}
	narrow        = word{0x0e612800, []int{first, second}, "xtn v%d.4h, v%d.4s"}
	narrowUpper   = word{0x4e612800, []int{first, second}, "xtn2 v%d.8h, v%d.4s"}
	larger        = word{0x6ea06400, []int{first, second, third}, "umax v%d.4s, v%d.4s, v%d.4s"}
	toFloats      = word{0x4e21d800, []int{first, second}, "scvtf v%d.4s, v%d.4s"}
	lengthen      = word{0x0e617800, []int{first, second}, "fcvtl v%d.2d, v%d.2s"}
	lengthenUpper = word{0x4e617800, []int{first, second}, "fcvtl2 v%d.2d, v%d.4s"}
)

// rightRounded returns the word of a shift of integers of 16 bits.
func rightRounded(n int) word {
	return word{0x4f002400 | uint32(32-n)<<16, []int{first, second}, fmt.Sprintf("srshr v%%d.8h, v%%d.8h, #%d", n)}
}

// narrowRight returns the words of a shift of integers of 16 bits that leaves unsigned bytes.
func narrowRight(n int) [2]word {
	shift := uint32(16-n) << 16
	return [2]word{
		{0x2f008400 | shift, []int{first, second}, fmt.Sprintf("sqshrun v%%d.8b, v%%d.8h, #%d", n)},
		{0x6f008400 | shift, []int{first, second}, fmt.Sprintf("sqshrun2 v%%d.16b, v%%d.8h, #%d", n)},
	}
}

var (
	mulInts     = word{0x6e60b400, []int{first, second, third}, "sqrdmulh v%d.8h, v%d.8h, v%d.8h"}
	leftRounded = word{0x4e605400, []int{first, second, third}, "srshl v%d.8h, v%d.8h, v%d.8h"}
	// The lower and the upper half of what is narrowed.
	narrowInts  = [2]word{{0x0e614800, []int{first, second}, "sqxtn v%d.4h, v%d.4s"}, {0x4e614800, []int{first, second}, "sqxtn2 v%d.8h, v%d.4s"}}
	narrowWords = [2]word{{0x0e214800, []int{first, second}, "sqxtn v%d.8b, v%d.8h"}, {0x4e214800, []int{first, second}, "sqxtn2 v%d.16b, v%d.8h"}}
	dotFirst    = word{0x4f80e000, []int{first, second, third}, "sdot v%d.4s, v%d.16b, v%d.4b[0]"}
	dotUnsigned = word{0x6e809400, []int{first, second, third}, "udot v%d.4s, v%d.16b, v%d.16b"}
)

var (
	loadAt  = word{0x3ce06800, []int{first, second, third}, "ldr q%d, [x%d,x%d]"}
	storeAt = word{0x3ca06800, []int{first, second, third}, "str q%d, [x%d,x%d]"}
)
