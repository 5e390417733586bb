package scan

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/zeros"
)

// The layout of weights of package scan: a group of rows has an integer of 16 bits for each row,
// and then the step and the constant, the sums of the weights of its parts, and the sum of the
// weights times zero points.
const (
	groupRows  = 64
	groupBytes = 2*groupRows + 32
	stepAt     = 2 * groupRows
	constantAt = stepAt + 4
	sumAt      = stepAt + 8
	zerosAt    = sumAt + 4*groupRows/zeros.PartRows
	largest    = 127 * 257
)

// sums multiplies the codes of 16 bytes of a row, as integers of 16 bits, by the weight of the row.
func (m machine) sums(width int) {
	perByte := 8 / width
	m.Begin(fmt.Sprintf("sums%d", width), "(sums *float32, rows, weights *uint64, n, words, sets, stride int)",
		"adds the weighted sums of rows, as the reference does.")
	rows, n, words := m.Argument("rows"), m.Argument("n"), m.Argument("words")
	first := m.Argument("weights")
	line, weightsOf, sumsOf := m.GP(), m.Argument("stride"), m.GP()
	m.I("LSL $3, R%r, R%w", words, line)
	m.I("LSL $3, R%m", weightsOf)
	m.I("ADD $3, R%r, R%w", words, sumsOf)
	m.I("LSR $2, R%m", sumsOf)
	m.I("LSL $%d, R%m", 6+perByte, sumsOf)
	var nibble arm64.Vec
	if width == 4 {
		nibble = m.Constant(0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f)
	}
	zero := m.Zero()
	codes, weight := m.Vec(), m.Vec()
	acc := m.Vecs(4 * perByte)

	m.Label("group")
	count, left := m.GP(), m.Argument("sets")
	weights, sums := m.CopyOf(first), m.Argument("sums")
	m.I("MOVD $%d, R%w", groupRows, count)
	m.I("CMP R%r, R%r", count, n)
	m.I("CSEL LT, R%r, R%r, R%w", n, count, count)
	m.Label("set")
	from, to, strips := m.CopyOf(rows), m.CopyOf(sums), m.GP()
	m.I("LSR $1, R%r, R%w", words, strips)
	m.I("CBZ R%r, %j", strips, "last")
	strip := func(label string, load func(p arm64.GP)) {
		for _, v := range acc {
			m.Into(v).Zero()
		}
		p, w, more := m.CopyOf(from), m.CopyOf(weights), m.CopyOf(count)
		m.Label(label)
		load(p)
		m.I("ADD R%r, R%m", line, p)
		m.I("VLD1R (R%r), [V%w.H8]", w, weight)
		m.I("ADD $2, R%m", w)
		parts := []arm64.Vec{codes}
		if width == 4 {
			upper := m.Vec()
			m.I("VUSHR $4, V%r.B16, V%w.B16", codes, upper)
			m.Into(codes).And(codes, nibble)
			parts = append(parts, upper)
		}
		for i, part := range parts {
			for half, name := range []string{"VZIP1", "VZIP2"} {
				long := m.permute(name, "B16", part, zero)
				m.MulAdd(acc[4*i+2*half], long, weight)
				m.MulAddUpper(acc[4*i+2*half+1], long, weight)
			}
		}
		m.Repeat(label, more)
		place := m.CopyOf(weights)
		m.I("ADD $%d, R%m", stepAt, place)
		step := m.Broadcast(place)
		m.I("ADD $%d, R%m", constantAt-stepAt, place)
		constant := m.Broadcast(place)
		for i, v := range acc {
			total := m.ToFloats(m.SubInt(m.AddInt(v, v), constant))
			m.Store(m.Add(m.Load(to, i*arm64.Width), m.Mul(total, step)), to, i*arm64.Width)
		}
		m.I("ADD $%d, R%m", 4*arm64.Width*perByte, to)
		m.I("ADD $%d, R%m", stripBytes, from)
	}
	m.Label("strip")
	strip("rows", func(p arm64.GP) { m.Into(codes).Load(p, 0) })
	m.Repeat("strip", strips)
	m.Label("last")
	m.I("TBZ $0, R%r, %j", words, "next")
	strip("ends", func(p arm64.GP) { m.I("FMOVD (R%r), F%w", p, codes) })
	m.Label("next")
	m.I("ADD R%r, R%m", weightsOf, weights)
	m.I("ADD R%r, R%m", sumsOf, sums)
	m.Repeat("set", left)
	m.I("ADD $%d, R%m", groupBytes, first)
	m.I("ADD R%r<<6, R%m", line, rows)
	m.I("SUBS $%d, R%m", groupRows, n)
	m.I("BGT %j", "group")
	m.End()
}

func (m machine) weigh() {
	m.Begin("weigh", "(dst *uint64, w, scales *float32, groups, odd int)",
		"rounds the weights of whole groups of rows, as the reference does.")
	dst, w, scales, groups, odd := m.Argument("dst"), m.Argument("w"), m.Argument("scales"), m.Argument("groups"), m.Argument("odd")
	magnitude, most := m.Pattern(1<<31-1), m.Value(largest)
	v, zerosOf := m.Vecs(groupRows/m.Lanes()), zeros.Of[arm64.Vec, arm64.GP](m)
	store := func(v []arm64.Vec, at int) {
		sum := zeros.Fold[arm64.Vec, arm64.GP](m, v)
		sum = m.Add(sum, m.PermuteDoubles("VZIP2", sum, sum))
		m.StoreElement(m.AddPairs(sum, sum), dst, at)
	}
	m.Label("group")
	m.LoadTo(v, w, 0)
	for i := range groupRows / zeros.PartRows {
		part := zeros.PartRows / m.Lanes()
		store(v[i*part:][:part], sumAt+4*i)
	}
	for i := range v {
		m.Into(v[i]).Mul(zerosOf(m.Load(scales, i*arm64.Width)), m.Load(w, i*arm64.Width))
	}
	store(v, zerosAt)
	var peak arm64.Vec
	for i := 0; i < len(v); i += 2 {
		m.LoadTo(v[i:i+2], w, i*arm64.Width)
		scale := m.Vecs(2)
		m.LoadTo(scale, scales, i*arm64.Width)
		for j, x := range v[i:][:2] {
			m.Into(x).Mul(x, scale[j])
			size := m.And(x, magnitude)
			if i+j == 0 {
				peak = size
			} else {
				m.Into(peak).Larger(peak, size)
			}
		}
	}
	// Bits have the order of magnitudes, and the bits of NaN are the largest.
	highest, top := m.Most(peak), m.Vec()
	m.I("VDUP R%r, V%w.S4", highest, top)
	step, perStep := m.Div(top, most), m.Div(most, top)
	m.StoreElement(step, dst, stepAt)
	for i := 0; i < len(v); i += 2 {
		for _, x := range v[i:][:2] {
			m.Into(x).Mul(x, perStep)
			m.Into(x).ToIntegers(x)
		}
		m.Store(m.Narrow(v[i], v[i+1]), dst, i/2*arm64.Width)
	}
	for h := len(v) / 2; h > 0; h /= 2 {
		for i := range h {
			m.Into(v[i]).AddInt(v[i], v[i+h])
		}
	}
	sum := m.GP()
	m.I("VADDV V%r.S4, V%w", v[0], v[0])
	m.I("FMOVS F%r, R%w", v[0], sum)
	m.I("MULW R%r, R%m", odd, sum)
	m.I("MOVW R%r, %d(R%r)", sum, constantAt, dst)
	m.I("ADD $%d, R%m", 4*groupRows, w)
	m.I("ADD $%d, R%m", 4*groupRows, scales)
	m.I("ADD $%d, R%m", groupBytes, dst)
	m.Repeat("group", groups)
	m.End()
}
