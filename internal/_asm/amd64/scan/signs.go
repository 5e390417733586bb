package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// signBytes is the number of bytes of a plane of signs: a byte for each row of a group.
const signBytes = groupRows

// signs looks up the entries of both halves of each byte of a plane, and adds the sums of the two,
// which fit in a byte, in words: the even bytes, which are the first rows, and the odd bytes.
func signs(m amd64.Machine) {
	TEXT("signScores"+m.Name, NOSPLIT, "func(dst *float32, groups, tables *uint64, means *float32, planes, count int, step, offset float32)")
	Doc("signScores" + m.Name + " sets dst to the scores of whole groups of rows, as the reference does.")
	Pragma("noescape")
	and, parts := func(a, b, to Op) { VPAND(a, b, to) }, signBytes/m.Width()
	if m.Wide {
		and = func(a, b, to Op) { VPANDD(a, b, to) }
	}
	dst, group, means, left := amd64.Argument("dst"), amd64.Argument("groups"), amd64.Argument("means"), amd64.Argument("count")
	nibbles, bytes := number(m.Vec(), 0x0f0f0f0f), number(m.Vec(), 0x00ff00ff)
	step, offset := m.Broadcast(amd64.Number("step")), m.Broadcast(amd64.Number("offset"))
	sums := m.Vecs(2 * parts) // the even bytes of each part, then the odd bytes
	Label("group")
	for _, s := range sums {
		m.Clear(s)
	}
	table, planes := amd64.Argument("tables"), amd64.Argument("planes")
	Label("plane")
	PREFETCHT0(at(group, ahead))
	low, high := m.Vec(), m.Vec()
	broadcast := func(offset int, to Op) {
		if m.Wide {
			VBROADCASTI32X4(at(table, offset), to)
		} else {
			VBROADCASTI128(at(table, offset), to)
		}
	}
	broadcast(0, low)
	broadcast(16, high)
	for p := range parts {
		codes, upper := m.Vec(), m.Vec()
		m.Move(at(group, p*m.Width()), codes)
		VPSRLW(U8(4), codes, upper)
		and(nibbles, upper, upper)
		and(nibbles, codes, codes)
		VPSHUFB(codes, low, codes)
		VPSHUFB(upper, high, upper)
		VPADDB(upper, codes, codes)
		and(bytes, codes, upper)
		VPADDW(upper, sums[p], sums[p])
		VPSRLW(U8(8), codes, codes)
		VPADDW(codes, sums[parts+p], sums[parts+p])
	}
	ADDQ(U32(signBytes), group)
	ADDQ(U32(32), table)
	amd64.Repeat("plane", planes)
	mean := m.Broadcast(at(means, 0))
	for line := range 2 {
		PREFETCHT0(at(group, ahead+64*line))
	}
	for i, s := range sums {
		for half := range 2 {
			words, v := halfOf(m, s, half), m.Vec()
			VPMOVZXWD(words, v)
			VCVTDQ2PS(v, v)
			m.Mul(step, v, v)
			m.Add(offset, v, v)
			first := (2*i + half) * m.Lanes()
			factor := m.Vec()
			VPMOVZXWD(at(group, 2*first), factor)
			VPSLLD(U8(16), factor, factor)
			m.Mul(factor, v, v)
			m.Add(mean, v, v)
			m.Move(v, at(dst, 4*first))
		}
	}
	ADDQ(U32(2*groupRows), group)
	ADDQ(U32(4*groupRows), dst)
	ADDQ(U32(4), means)
	amd64.Repeat("group", left)
	amd64.End()
}

func halfOf(m amd64.Machine, v Op, half int) Op {
	r := v.(VecVirtual)
	switch {
	case half == 0 && m.Wide:
		return r.AsY()
	case half == 0:
		return r.AsX()
	case m.Wide:
		upper := YMM()
		VEXTRACTI64X4(U8(1), r, upper)
		return upper
	}
	upper := XMM()
	VEXTRACTI128(U8(1), r, upper)
	return upper
}
