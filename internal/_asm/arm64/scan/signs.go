package scan

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// roundBlocks is the number of blocks after which bytes that count bits may be full: two words add
// at most 8 to a byte.
const roundBlocks = 255 / (8 * blockWords / 2)

// signs counts the bits that a row shares with each plane, in a vector of bytes for each plane.
func (m machine) signs() {
	m.Begin("signs", "(dst *float32, rows, planes *uint64, n, words int)",
		"sets dst[i] to the sum of the weights of row i, as the reference does.")
	dst, rows, weights := m.Argument("dst"), m.Argument("rows"), m.Argument("planes")
	n, words := m.Argument("n"), m.Argument("words")
	two := m.Constant(0x0002000200020002, 0x0002000200020002)
	counts, codes, total := m.Vecs(planes), m.Vec(), m.Vec()
	left, start, more := m.GP(), m.GP(), m.GP()
	m.rows(n, func() {
		m.Into(total).Zero()
		m.I("MOVD R%r, R%w", words, left)
		m.I("MOVD R%r, R%w", weights, start)
		m.Label("round")
		for _, c := range counts {
			m.Into(c).Zero()
		}
		m.I("MOVD $%d, R%w", roundBlocks, more)
		m.blocks(rows, left, start, planes*blockBytes, func(words int) {
			m.loadWords(codes, rows, words)
		}, func(at arm64.GP) {
			for b, c := range counts {
				shared := m.And(codes, m.Load(at, b*blockBytes))
				m.I("VCNT V%r.B16, V%m.B16", shared, shared)
				m.I("VADD V%r.B16, V%r.B16, V%m.B16", shared, c, c)
			}
		}, func() {
			m.I("SUBS $1, R%m", more)
			m.I("BEQ %j", "sum")
		})
		// Horner's scheme; the highest plane counts negatively.
		var sum arm64.Vec
		for b := planes - 1; b >= 0; b-- {
			higher := sum
			sum = m.AddBytes(counts[b])
			switch b {
			case planes - 1:
			case planes - 2:
				m.MinusInts(sum, higher, two)
			default:
				m.PlusInts(sum, higher, two)
			}
		}
		m.AccumulateInts(total, sum)
		m.I("CBNZ R%r, %j", left, "round")
		number := m.GP()
		m.I("VADDV V%m.S4, V%m", total, total)
		m.I("FMOVS F%r, R%w", total, number)
		m.I("SCVTFWS R%r, F%w", number, total)
		m.StoreElement(total, dst, 0)
		m.I("ADD $4, R%m", dst)
	})
}
