package scan

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

const (
	listedHeight = 4  // rows of a step
	listedAhead  = 8  // the distance in rows at which kernels prefetch codes
	chunkBytes   = 64 // of a row; the digits of a query come in runs of as many bytes
)

// listed is the loop over rows, four at a time. Rows at addresses are multiplied together. Rows
// side by side are multiplied one after the other, because processors fetch codes faster that are
// read in the order of their addresses.
type listed struct {
	width, digits int
	together      bool
	rows          [listedHeight]GPVirtual
	query         GPVirtual
	sums          [2][listedHeight]VecVirtual // of each digit
	vec           func() VecVirtual
}

// place returns the digits g of the codes p of all bytes of a chunk.
func (l *listed) place(p, g int) Mem { return at(l.query, (p*l.digits+g)*chunkBytes) }

// write writes a kernel. Function chunk adds the products of a chunk of rows [from, to) of four.
// Function last adds those of the last chunk, of 1 to 7 words.
func (l *listed) write(tier string, prepare func(), chunk func(from, to int), last func(words Register, from, to int), total func(sums [listedHeight]VecVirtual) VecVirtual) {
	if l.together {
		begin(fmt.Sprintf("listedProducts%d%s", l.width, tier), "(dst *float32, rows **byte, digits *byte, n, words int)",
			"sets dst[i] to the product of the row at rows[i] with a query, as the reference does. n is a multiple of 4, and rows has 8 addresses more.")
	} else {
		begin(fmt.Sprintf("listedRange%d%s", l.width, tier), "(dst *float32, rows *uint64, digits *byte, n, words int)",
			"sets dst[i] to the product of row i with a query, as the reference does. n is a multiple of 4.")
	}
	dst, rows, left := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("n")
	prepare()
	SHRQ(U8(2), left)
	Label("rows")
	var fetch [listedHeight]GPVirtual
	for i := range fetch {
		if l.rows[i] = rows; l.together {
			l.rows[i], fetch[i] = GP64(), GP64()
			MOVQ(at(rows, 8*i), l.rows[i])
			MOVQ(at(rows, 8*(i+listedAhead)), fetch[i])
		}
	}
	for g := range l.digits {
		for i := range l.sums[g] {
			v := l.vec()
			if v.Size() == 64 {
				VPXORD(v, v, v)
			} else {
				VPXOR(v, v, v)
			}
			l.sums[g][i] = v
		}
	}
	if l.together {
		l.part("", 0, listedHeight, fetch[:], chunk, last)
		ADDQ(U8(8*listedHeight), rows)
	} else {
		for i := range listedHeight {
			l.part(fmt.Sprint(i), i, i+1, nil, chunk, last)
			words := amd64.Argument("words")
			ANDQ(U8(7), words)
			LEAQ(Mem{Base: rows, Index: words, Scale: 8}, rows)
		}
	}
	query, totals := amd64.Argument("digits"), make([]VecVirtual, l.digits)
	for g := range totals {
		totals[g] = total(l.sums[g])
	}
	var power VecVirtual
	if l.digits == 2 {
		power = number(XMM(), math.Float32bits(256))
	}
	VMOVUPS(horner(totals, [][]int{{highConstant}, {lowConstant}}[2-l.digits:], power, subtractAt(query)), at(dst, 0))
	ADDQ(U8(4*listedHeight), dst)
	amd64.Repeat("rows", left)
	amd64.End()
}

// part multiplies rows [from, to) of four. The addresses of the rows move to their last chunks.
func (l *listed) part(label string, from, to int, fetch []GPVirtual, chunk func(from, to int), last func(words Register, from, to int)) {
	l.query = amd64.Argument("digits")
	ADDQ(U8(chunkBytes), l.query)
	chunks := amd64.Argument("words")
	SHRQ(U8(3), chunks)
	JZ(LabelRef("last" + label))
	Label("chunk" + label)
	for _, p := range fetch {
		PREFETCHT0(at(p, 0))
		ADDQ(U8(chunkBytes), p)
	}
	chunk(from, to)
	for _, p := range l.rows[from:to] {
		ADDQ(U8(chunkBytes), p)
	}
	ADDQ(U32(8/l.width*l.digits*chunkBytes), l.query)
	amd64.Repeat("chunk"+label, chunks)
	Label("last" + label)
	words := amd64.Argument("words")
	ANDQ(U8(7), words)
	JZ(LabelRef("end" + label))
	for _, p := range fetch {
		PREFETCHT0(at(p, 0))
	}
	last(words, from, to)
	Label("end" + label)
}

// newListed returns a loop. Codes of 1 and 2 bits have queries of one digit.
func newListed(width int, together bool, vec func() VecVirtual) *listed {
	return &listed{width: width, digits: min(2, (width+1)/2), together: together, vec: vec}
}

func listedWide(width int, together bool) {
	l := newListed(width, together, ZMM)
	var mask VecVirtual
	chunk := func(first, end int, load func(from Mem, to VecVirtual)) {
		codes := make([]VecVirtual, end-first)
		for i, p := range l.rows[first:end] {
			codes[i] = ZMM()
			load(at(p, 0), codes[i])
		}
		for p := range 8 / width {
			digit := make([]VecVirtual, l.digits)
			for g := range digit {
				digit[g] = ZMM()
				VMOVDQU64(l.place(p, g), digit[g])
			}
			for i, c := range codes {
				part := c
				if width < 8 {
					part = ZMM()
					if p > 0 {
						VPSRLW(U8(p*width), c, part)
						c = part
					}
					VPANDD(mask, c, part)
				}
				for g, d := range digit {
					amd64.PlusBytes(d, part, l.sums[g][first+i])
				}
			}
		}
	}
	l.write("AVX512", func() {
		if width < 8 {
			mask = number(ZMM(), uint32(1<<width-1)*0x01010101)
		}
	}, func(first, end int) {
		chunk(first, end, func(from Mem, to VecVirtual) { VMOVDQU64(from, to) })
	}, func(words Register, first, end int) {
		ones := GP64()
		MOVQ(I32(-1), ones)
		BZHIQ(words, ones, ones)
		KMOVB(ones.As32(), K1)
		chunk(first, end, func(from Mem, to VecVirtual) { VMOVDQU64_Z(from, K1, to) })
	}, func(sums [listedHeight]VecVirtual) VecVirtual {
		both := func(a, b VecVirtual, low, high func(ops ...Op)) VecVirtual {
			x, y := ZMM(), ZMM()
			low(b, a, x)
			high(b, a, y)
			VPADDD(y, x, x)
			return x
		}
		sum := both(both(sums[0], sums[1], VPUNPCKLDQ, VPUNPCKHDQ), both(sums[2], sums[3], VPUNPCKLDQ, VPUNPCKHDQ), VPUNPCKLQDQ, VPUNPCKHQDQ)
		upper := YMM()
		VEXTRACTI64X4(U8(1), sum, upper)
		VPADDD(sum.AsY(), upper, upper)
		half := XMM()
		VEXTRACTI128(U8(1), upper, half)
		VPADDD(upper.AsX(), half, half)
		return half
	})
}

// listedNarrow takes codes of 8 bits and their digits as integers of 16 bits, as productsNarrow.
func listedNarrow(width int, together bool) {
	l := newListed(width, together, YMM)
	var mask, ones VecVirtual
	half := func(j, first, end int, load func(from Mem, to VecVirtual)) {
		for i := first; i < end; i++ {
			codes := YMM()
			load(at(l.rows[i], 32*j), codes)
			if width == 8 {
				for h := range 2 {
					words := YMM()
					if h == 0 {
						VPMOVZXBW(codes.AsX(), words)
					} else {
						VEXTRACTI128(U8(1), codes, codes.AsX())
						VPMOVZXBW(codes.AsX(), words)
					}
					for g := range l.digits {
						digit := YMM()
						place := l.place(0, g)
						place.Disp += 32*j + 16*h
						VPMOVSXBW(place, digit)
						VPMADDWD(words, digit, digit)
						VPADDD(digit, l.sums[g][i], l.sums[g][i])
					}
				}
				continue
			}
			var words [2]VecVirtual
			for p := range 8 / width {
				part := YMM()
				if p > 0 {
					VPSRLW(U8(p*width), codes, part)
					VPAND(mask, part, part)
				} else {
					VPAND(mask, codes, part)
				}
				for g := range l.digits {
					place, product := l.place(p, g), YMM()
					place.Disp += 32 * j
					VPMADDUBSW(place, part, product)
					if p == 0 {
						words[g] = product
					} else {
						VPADDW(product, words[g], words[g])
					}
				}
			}
			for g := range l.digits {
				VPMADDWD(ones, words[g], words[g])
				VPADDD(words[g], l.sums[g][i], l.sums[g][i])
			}
		}
	}
	name := fmt.Sprintf("listedMask%d", width)
	if together {
		GLOBL(name, RODATA|NOPTR)
		for i := range 16 {
			ones := uint64(0)
			if i < 8 {
				ones--
			}
			DATA(8*i, U64(ones))
		}
	}
	l.write("AVX2", func() {
		if width < 8 {
			mask, ones = number(YMM(), uint32(1<<width-1)*0x01010101), number(YMM(), 0x00010001)
		}
	}, func(first, end int) {
		for j := range 2 {
			half(j, first, end, func(from Mem, to VecVirtual) { VMOVDQU(from, to) })
		}
	}, func(words Register, first, end int) {
		masks := GP64()
		SHLQ(U8(3), words)
		if together {
			LEAQ(amd64.Static(name), masks)
			SUBQ(words, masks)
		}
		for j := range 2 {
			if j == 1 { // up to four words have no second half
				CMPQ(words, U8(32))
				JLE(LabelRef(fmt.Sprint("half", first)))
			}
			load := func(from Mem, to VecVirtual) { VMOVDQU(from, to) } // the next row has digits of 0
			if together {
				part := YMM()
				VMOVDQU(at(masks, 64+32*j), part)
				load = func(from Mem, to VecVirtual) { VPMASKMOVQ(from, part, to) }
			}
			half(j, first, end, load)
		}
		Label(fmt.Sprint("half", first))
	}, func(sums [listedHeight]VecVirtual) VecVirtual {
		sum, v := addLanes(sums[0], sums[1], sums[2], sums[3]), XMM()
		VEXTRACTI128(U8(1), sum, v)
		VPADDD(sum.AsX(), v, v)
		return v
	})
}
