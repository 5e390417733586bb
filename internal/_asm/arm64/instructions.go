package arm64

// Arithmetic of elements, each result rounded: a + b, a − b, ….

func (m Machine) Add(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fadd", fadd), a, b)
}
func (m Machine) Sub(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fsub", fsub), a, b)
}
func (m Machine) Mul(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fmul", fmul), a, b)
}
func (m Machine) Div(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fdiv", fdiv), a, b)
}
func (m Machine) Abs(a Vec, into ...Vec) Vec  { return m.to(into).apply(m.unary("fabs", fabs), a) }
func (m Machine) Sqrt(a Vec, into ...Vec) Vec { return m.to(into).apply(m.unary("fsqrt", fsqrt), a) }
func (m Machine) Neg(a Vec, into ...Vec) Vec  { return m.to(into).apply(m.unary("fneg", fneg), a) }

// Min and Max are NaN where one of the elements is.

func (m Machine) Min(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fmin", fmin), a, b)
}
func (m Machine) Max(a, b Vec, into ...Vec) Vec {
	return m.to(into).apply(m.binary("fmax", fmax), a, b)
}

// AddPairs and MaxPairs combine the neighbours of a, and then those of b.

func (m Machine) AddPairs(a, b Vec) Vec { return m.apply(m.binary("faddp", faddp), a, b) }
func (m Machine) MaxPairs(a, b Vec) Vec { return m.apply(m.binary("fmaxp", fmaxp), a, b) }

// MinNumber and MaxNumber are the other element where one is NaN.

func (m Machine) MinNumber(a, b Vec) Vec { return m.apply(m.binary("fminnm", fminnm), a, b) }
func (m Machine) MaxNumber(a, b Vec) Vec { return m.apply(m.binary("fmaxnm", fmaxnm), a, b) }

// ToInts rounds to integers, half to even; NaN becomes 0, and what is too large the largest.
func (m Machine) ToInts(a Vec) Vec { return m.apply(m.unary("fcvtns", fcvtns), a) }

// Comparisons set all bits where they hold, and none where an element is NaN.

func (m Machine) Equal(a, b Vec) Vec   { return m.apply(m.binary("fcmeq", fcmeq), a, b) }
func (m Machine) AtLeast(a, b Vec) Vec { return m.apply(m.binary("fcmge", fcmge), a, b) }
func (m Machine) Greater(a, b Vec) Vec { return m.apply(m.binary("fcmgt", fcmgt), a, b) }

// MulLane returns a·b[lane].
func (m Machine) MulLane(a, b Vec, lane int) Vec {
	return m.apply(m.element("fmul", 0x4f809000, lane), a, b)
}

func (m Machine) apply(w word, operands ...Vec) Vec {
	v := m.result()
	all := []any{v}
	for _, o := range operands {
		all = append(all, o)
	}
	m.W(w, "wrr", all...)
	return v
}

// Fused multiplication and addition, rounded once.

// AddMul returns into + a·b, and SubMul into − a·b. Both need into.

func (m Machine) AddMul(a, b Vec, into ...Vec) Vec { return m.fused("VFMLA", a, b, into[0]) }
func (m Machine) SubMul(a, b Vec, into ...Vec) Vec { return m.fused("VFMLS", a, b, into[0]) }

func (m Machine) fused(name string, a, b, into Vec) Vec {
	s := m.arrangement()
	m.I("%s V%r%s, V%r%s, V%m%s", name, b, s, a, s, into, s)
	return into
}

// PlusLane sets dst = dst + b·c[lane].
func (m Machine) PlusLane(dst, b, c Vec, lane int) {
	m.W(m.element("fmla", 0x4f801000, lane), "mrr", dst, b, c)
}

// MinusLane sets dst = dst − b·c[lane].
func (m Machine) MinusLane(dst, b, c Vec, lane int) {
	m.W(m.element("fmls", 0x4f805000, lane), "mrr", dst, b, c)
}

// arrangement returns the end of the names of vectors in Go's assembler.
func (m Machine) arrangement() string { return Of(m, ".S4", ".D2") }

// The bits of vectors.

func (m Machine) And(a, b Vec, into ...Vec) Vec { return m.to(into).bitwise("VAND", a, b) }
func (m Machine) Or(a, b Vec, into ...Vec) Vec  { return m.to(into).bitwise("VORR", a, b) }
func (m Machine) Xor(a, b Vec, into ...Vec) Vec { return m.to(into).bitwise("VEOR", a, b) }
func (m Machine) OrNot(a, b Vec) Vec            { return m.apply(orNot, a, b) }

func (m Machine) bitwise(name string, a, b Vec) Vec {
	v := m.result()
	m.I("%s V%r.B16, V%r.B16, V%w.B16", name, b, a, v)
	return v
}

// Choose sets dst = from where the mask is set.
func (m Machine) Choose(dst, mask, from Vec) {
	m.I("VBIT V%r.B16, V%r.B16, V%m.B16", mask, from, dst)
}

// Move returns a copy.
func (m Machine) Move(a Vec, into ...Vec) Vec {
	v := m.to(into).result()
	m.I("VMOV V%r.B16, V%w.B16", a, v)
	return v
}

// Zero returns a vector of zeros.
func (m Machine) Zero() Vec {
	v := m.result()
	m.I("VMOVI $0, V%w.B16", v)
	return v
}

// Integers of the size of an element.

func (m Machine) AddInt(a, b Vec, into ...Vec) Vec { return m.to(into).integers("VADD", a, b) }
func (m Machine) SubInt(a, b Vec, into ...Vec) Vec { return m.to(into).integers("VSUB", a, b) }

func (m Machine) integers(name string, a, b Vec) Vec {
	v, s := m.result(), m.arrangement()
	m.I("%s V%r%s, V%r%s, V%w%s", name, b, s, a, s, v, s)
	return v
}

func (m Machine) Left(a Vec, n int, into ...Vec) Vec  { return m.to(into).shift("VSHL", a, n) }
func (m Machine) Right(a Vec, n int, into ...Vec) Vec { return m.to(into).shift("VUSHR", a, n) }

func (m Machine) shift(name string, a Vec, n int) Vec {
	v, s := m.result(), m.arrangement()
	m.I("%s $%d, V%r%s, V%w%s", name, n, a, s, v, s)
	return v
}

// RightSigned keeps the sign.
func (m Machine) RightSigned(a Vec, n int) Vec { return m.apply(m.shiftRight(n), a) }

// AccumulateInts adds pairs of integers of 16 bits to the integers of 32 bits in dst.
func (m Machine) AccumulateInts(dst, a Vec) { m.W(accumulateInts, "mr", dst, a) }

// DotBytes adds the products of four signed bytes of a and b to each integer of 32 bits in dst. Not
// every processor has it.
func (m Machine) DotBytes(dst, a, b Vec) { m.W(dotBytes, "mrr", dst, a, b) }

// DotFirst is DotBytes with the first four bytes of b for all.
func (m Machine) DotFirst(dst, a, b Vec) { m.W(dotFirst, "mrr", dst, a, b) }

// DotUnsigned is DotBytes for unsigned bytes.
func (m Machine) DotUnsigned(dst, a, b Vec) { m.W(dotUnsigned, "mrr", dst, a, b) }

// MulBytes and MulUpperBytes return the products of the lower and of the upper half of 16 signed
// bytes, in 16 bits.

func (m Machine) MulBytes(a, b Vec) Vec      { return m.apply(mulBytes, a, b) }
func (m Machine) MulUpperBytes(a, b Vec) Vec { return m.apply(mulUpperBytes, a, b) }

// MulAdd and MulAddUpper add the products of the lower and of the upper four of eight integers of
// 16 bits to those of 32 bits in dst.

func (m Machine) MulAdd(dst, a, b Vec)      { m.W(mulAdd, "mrr", dst, a, b) }
func (m Machine) MulAddUpper(dst, a, b Vec) { m.W(mulAddUpper, "mrr", dst, a, b) }

// Larger returns the larger of unsigned integers of 32 bits.
func (m Machine) Larger(a, b Vec) Vec { return m.apply(larger, a, b) }

// ToIntegers rounds float32 to the nearest integers of 32 bits.
func (m Machine) ToIntegers(a Vec) Vec { return m.apply(toIntegers, a) }

// Narrow returns integers of 32 bits, those of a and then those of b, in 16 bits.
func (m Machine) Narrow(a, b Vec) Vec {
	v := m.apply(narrow, a)
	m.W(narrowUpper, "mr", v, b)
	return v
}

// ToFloats converts signed integers of 32 bits to float32.
func (m Machine) ToFloats(a Vec) Vec { return m.apply(toFloats, a) }

// MulInts returns the products of integers of 16 bits as multiples of 2⁻¹⁵, rounded.
func (m Machine) MulInts(a, b Vec) Vec { return m.apply(mulInts, a, b) }

// RightRounded shifts integers of 16 bits to the right and rounds, half upwards.
func (m Machine) RightRounded(a Vec, n int) Vec { return m.apply(rightRounded(n), a) }

// LeftRounded shifts integers of 16 bits, to the right by negative numbers, with rounding.
func (m Machine) LeftRounded(a, b Vec) Vec { return m.apply(leftRounded, a, b) }

// NarrowInts returns the integers of 32 bits of a and b as 16 bits, NarrowWords integers of 16 bits
// as 8 bits, and NarrowRight such, shifted to the right by n, as unsigned 8 bits. What is too large
// or too small becomes the nearest that there is.

func (m Machine) NarrowInts(a, b Vec) Vec         { return m.narrow(narrowInts, a, b) }
func (m Machine) NarrowWords(a, b Vec) Vec        { return m.narrow(narrowWords, a, b) }
func (m Machine) NarrowRight(a, b Vec, n int) Vec { return m.narrow(narrowRight(n), a, b) }

func (m Machine) narrow(halves [2]word, a, b Vec) Vec {
	v := m.apply(halves[0], a)
	m.W(halves[1], "mr", v, b)
	return v
}

// Least and Most return the extreme of four unsigned integers of 32 bits.

func (m Machine) Least(a Vec) GP { return m.extreme(least, a) }
func (m Machine) Most(a Vec) GP  { return m.extreme(most, a) }

func (m Machine) extreme(w word, a Vec) GP {
	v, r := m.Vec(), m.GP()
	m.W(w, "wr", v, a)
	m.I("FMOVS F%r, R%w", v, r)
	return r
}

// Lengthen returns the lower and LengthenUpper the upper half of four float32 as float64.

func (m Machine) Lengthen(a Vec) Vec      { return m.apply(lengthen, a) }
func (m Machine) LengthenUpper(a Vec) Vec { return m.apply(lengthenUpper, a) }

// Permutations of lanes by their names in Go's assembler, VZIP1, VTRN1, …, of vectors a and b whose
// lanes have the size of an element.
func (m Machine) Permute(name string, a, b Vec) Vec { return m.integers(name, a, b) }

// PermuteDoubles is Permute for lanes of 8 bytes.
func (m Machine) PermuteDoubles(name string, a, b Vec) Vec {
	m.Size = 8
	return m.Permute(name, a, b)
}

// Memory.

// Load returns the vector at a distance in bytes from p.
func (m Machine) Load(p GP, offset int) Vec {
	v := m.result()
	m.I("FMOVQ %d(R%r), F%w", offset, p, v)
	return v
}

// Store writes a vector.
func (m Machine) Store(v Vec, p GP, offset int) { m.I("FMOVQ F%r, %d(R%r)", v, offset, p) }

// LoadAt and StoreAt are Load and Store for a distance in a register.

func (m Machine) LoadAt(p, offset GP) Vec {
	v := m.result()
	m.W(loadAt, "wrr", v, p, offset)
	return v
}

func (m Machine) StoreAt(v Vec, p, offset GP) { m.W(storeAt, "rrr", v, p, offset) }

// LoadTo reads adjacent vectors.
func (m Machine) LoadTo(v []Vec, p GP, offset int) {
	for ; len(v) >= 2; v, offset = v[2:], offset+2*Width {
		m.I("FLDPQ %d(R%r), (F%w, F%w)", offset, p, v[0], v[1])
	}
	if len(v) > 0 {
		m.Into(v[0]).Load(p, offset)
	}
}

// StoreAll writes adjacent vectors.
func (m Machine) StoreAll(v []Vec, p GP, offset int) {
	for ; len(v) >= 2; v, offset = v[2:], offset+2*Width {
		m.I("FSTPQ (F%r, F%r), %d(R%r)", v[0], v[1], offset, p)
	}
	if len(v) > 0 {
		m.Store(v[0], p, offset)
	}
}

// LoadElement returns a vector whose first element is the one at a distance from p, and whose
// others are 0.
func (m Machine) LoadElement(p GP, offset int) Vec {
	v := m.result()
	m.I("%s %d(R%r), F%w", m.scalar(), offset, p, v)
	return v
}

// LoadElementAt is LoadElement for a distance in a register.
func (m Machine) LoadElementAt(p, offset GP) Vec {
	v := m.result()
	m.I("%s (R%r)(R%r), F%w", m.scalar(), p, offset, v)
	return v
}

// LoadElementOf is LoadElement for the element with an index.
func (m Machine) LoadElementOf(p, index GP) Vec {
	v := m.result()
	m.I("%s (R%r)(R%r<<%d), F%w", m.scalar(), p, index, m.Shift(), v)
	return v
}

// StoreElement writes the first element.
func (m Machine) StoreElement(v Vec, p GP, offset int) {
	m.I("%s F%r, %d(R%r)", m.scalar(), v, offset, p)
}

// scalar returns the name of a move of one element.
func (m Machine) scalar() string { return Of(m, "FMOVS", "FMOVD") }

// Broadcast returns a vector with the element at p in every lane.
func (m Machine) Broadcast(p GP) Vec {
	v := m.result()
	m.I("VLD1R (R%r), [V%w%s]", p, v, m.arrangement())
	return v
}

// BroadcastNext is Broadcast, and then p goes on by an element.
func (m Machine) BroadcastNext(p GP) Vec {
	v := m.result()
	m.I("VLD1R.P %d(R%m), [V%w%s]", m.Size, p, v, m.arrangement())
	return v
}

// Lane returns a vector with one element of a in every lane.
func (m Machine) Lane(a Vec, lane int) Vec {
	v := m.result()
	m.I("VDUP V%r%s[%d], V%w%s", a, m.arrangement()[:2], lane, v, m.arrangement())
	return v
}

// Insert replaces a lane of dst by the first element of a.
func (m Machine) Insert(dst, a Vec, lane int) {
	e := m.arrangement()[:2]
	m.I("VMOV V%r%s[0], V%m%s[%d]", a, e, dst, e, lane)
}
