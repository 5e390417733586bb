package bytedot

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// vectors is the number of vectors of sixteen elements.
const vectors = lanes * 4 / arm64.Width

// neon is a machine of arm64 with dot products of bytes, which are signed: columns are bytes less
// 128. Four rows are their addresses.
type neon struct{ arm64.Machine }

// WriteARM64 writes the kernels of arm64.
func WriteARM64(f *arm64.File) {
	m := neon{arm64.Machines(f)[0]}
	m.Name = "NEON"
	write[arm64.Vec, arm64.GP](m)
}

func (m neon) vectors() int                    { return vectors }
func (m neon) columns(sixteens int) (int, int) { return vectors, sixteens }
func (m neon) held() bool                      { return false }

func (m neon) counter(n int) arm64.GP {
	r := m.GP()
	m.I("MOVD $%d, R%w", n, r)
	return r
}

func (m neon) advanceArgument(name string, bytes int) {
	r := m.Argument(name)
	m.Advance(r, bytes)
	m.SetArgument(name, r)
}

func (m neon) advanceTimes(p, bytes arm64.GP, times int) {
	m.I("ADD R%r<<%d, R%m", bytes, times/2, p) // a shift by 0 or by 2
}

func (m neon) less(count arm64.GP, n int, label string)    { m.branch("SUBS", "BLT", count, n, label) }
func (m neon) notLess(count arm64.GP, n int, label string) { m.branch("SUBS", "BGE", count, n, label) }
func (m neon) none(count arm64.GP, n int, label string)    { m.branch("ADDS", "BEQ", count, n, label) }

func (m neon) branch(operation, branch string, count arm64.GP, n int, label string) {
	m.I("%s $%d, R%m", operation, n, count)
	m.I(branch+" %j", label)
}

func (m neon) times(a arm64.GP, n int) arm64.GP {
	r := m.counter(n)
	m.I("MUL R%r, R%m", a, r)
	return r
}

func (m neon) load(n int, p arm64.GP) []arm64.Vec {
	v := m.Vecs(n)
	m.LoadTo(v, p, 0)
	return v
}

func (m neon) operands(n int, p arm64.GP) []arm64.Vec { return m.load(n, p) }
func (m neon) store(v []arm64.Vec, p arm64.GP)        { m.StoreAll(v, p, 0) }

func (m neon) spread(n int, p arm64.GP) []arm64.Vec {
	v := []arm64.Vec{m.BroadcastNext(p)}
	for range n - 1 {
		v = append(v, m.Move(v[0]))
	}
	return v
}

func (m neon) four(p, stride arm64.GP) []arm64.GP          { return m.Pointers(p, stride, 4) }
func (m neon) at(rows []arm64.GP, i, offset int) arm64.Vec { return m.Load(rows[i], offset) }

func (m neon) nextFour(rows []arm64.GP, stride arm64.GP) {
	for _, p := range rows {
		m.advanceTimes(p, stride, 4)
	}
}

func (m neon) raise(peak, v arm64.Vec)              { m.Into(peak).MaxNumber(peak, v) }
func (m neon) magnitude() arm64.Vec                 { return m.Pattern(1<<31 - 1) }
func (m neon) largest(into, v arm64.Vec)            { m.I("VUMAX V%r.S4, V%r.S4, V%m.S4", v, into, into) }
func (m neon) storeLargest(v arm64.Vec, p arm64.GP) { m.I("MOVW R%r, (R%r)", m.Most(v), p) }

func (m neon) storeSum(v arm64.Vec, p arm64.GP) {
	m.I("VADDV V%m.S4, V%m", v, v)
	m.StoreElement(v, p, 0)
}

func (m neon) first(p arm64.GP) arm64.Vec { return m.LoadElement(p, 0) }
func (m neon) toFloats(v arm64.Vec)       { m.Into(v).ToFloats(v) }

func (m neon) multiplier() func(left []arm64.GP, b arm64.GP, sums [][]arm64.Vec) {
	sign := m.repeated(128)
	return func(left []arm64.GP, b arm64.GP, sums [][]arm64.Vec) {
		columns := m.load(vectors, b)
		for _, c := range columns {
			m.Xor(c, sign, c)
		}
		for i, row := range sums {
			four := m.LoadElementAt(left[i], left[len(sums)])
			for j, s := range row {
				m.DotFirst(s, columns[j], four)
			}
		}
	}
}

// leftRows returns the addresses of the rows and the distance of a group from their beginnings.
func (m neon) leftRows(a, row arm64.GP, rows int) []arm64.GP {
	return append(m.Pointers(m.CopyOf(a), row, rows), m.counter(0))
}

func (m neon) nextGroup(left []arm64.GP, group arm64.GP) { m.AdvanceBy(left[len(left)-1], group) }

func (m neon) rowCodes() func(v []arm64.Vec, to arm64.GP, sum arm64.Vec) {
	ones := m.repeated(1)
	return func(v []arm64.Vec, to arm64.GP, sum arm64.Vec) {
		code := m.narrow(v)
		m.Store(code, to, 0)
		m.DotBytes(sum, code, ones)
	}
}

func (m neon) narrow(v []arm64.Vec) arm64.Vec {
	for _, v := range v {
		m.Into(v).ToInts(v)
	}
	return m.NarrowWords(m.NarrowInts(v[0], v[1]), m.NarrowInts(v[2], v[3]))
}

func (m neon) columnCodes() func(v []arm64.Vec, sum arm64.Vec) arm64.Vec {
	order, ones := m.interleave(), m.repeated(1)
	return func(v []arm64.Vec, sum arm64.Vec) arm64.Vec {
		code := m.shuffle(m.narrow(v), order)
		m.DotBytes(sum, code, ones)
		return code
	}
}

func (m neon) transposed(from, row arm64.GP) []arm64.Vec {
	var x []arm64.Vec
	for range m.Lanes() {
		x = append(x, m.Load(from, 0))
		m.AdvanceBy(from, row)
	}
	return m.Transpose(x)
}

func (m neon) flipper() func(v arm64.Vec) {
	signs := m.repeated(128)
	return func(v arm64.Vec) { m.Xor(v, signs, v) }
}

func (m neon) repeated(b uint8) arm64.Vec {
	return m.Constant(0x0101010101010101*uint64(b), 0x0101010101010101*uint64(b))
}

func (m neon) words(v int16) arm64.Vec {
	return m.Constant(0x0001000100010001*uint64(uint16(v)), 0x0001000100010001*uint64(uint16(v)))
}

// interleave returns an order of bytes: byte i of each of four quarters, for i = 0 … 3.
func (m neon) interleave() arm64.Vec { return m.Constant(0x0d0905010c080400, 0x0f0b07030e0a0602) }
