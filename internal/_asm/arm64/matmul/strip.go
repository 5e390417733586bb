package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// strip is the micro-kernel. All sums of a panel stay in registers. An element of A is loaded as
// the first lane of a vector, and multiplies the vectors of B from there.
func (m machine) strip(rows, vectors int) {
	m.Begin(fmt.Sprintf("strip%dx%d", rows, vectors), "(k int, a left[T], b right[T], c target[T], alpha, beta T, panels int)",
		fmt.Sprintf("computes C = α·A·B + β·C for %d rows and panels of %d columns.", rows, vectors*m.Lanes()))
	a := m.Pointers(m.Argument("a.first"), m.Bytes("a.row"), rows)
	b, c, panels := m.Argument("b.first"), m.Argument("c.first"), m.Argument("panels")

	m.Label("panel")
	col, next, last := m.Bytes("a.col"), m.Bytes("b.row"), m.Argument("c.last")
	k, row, at := m.Argument("k"), m.CopyOf(b), m.GP()
	m.I("MOVD $0, R%w", at)
	sums := make([][]arm64.Vec, rows)
	for i := range sums {
		for range vectors {
			sums[i] = append(sums[i], m.Zero())
		}
	}
	m.expect(rows, c)
	m.I("CBZ R%r, %j", k, "done")
	m.Label("loop")
	var factors []arm64.Vec
	if vectors == 1 {
		// A single vector may be the last of a row of B that is read in place.
		factors = []arm64.Vec{m.LoadFirst("b", row, last)}
	} else {
		factors = m.Vecs(vectors)
		m.LoadTo(factors, row, 0)
	}
	m.I("ADD R%r, R%m", next, row)
	for i, sum := range sums {
		element := m.LoadElementAt(a[i], at)
		for v := range sum {
			m.PlusLane(sum[v], factors[v], element, 0)
		}
	}
	m.I("ADD R%r, R%m", col, at)
	m.Repeat("loop", k)
	m.Label("done")
	m.finish(sums, c)
	m.I("ADD $%d, R%m", vectors*arm64.Width, c)
	m.I("ADD R%r, R%m", m.Bytes("b.panel"), b)
	m.Repeat("panel", panels)
	m.End()
}

// expect asks for the tile of C, which is needed in the end.
func (m machine) expect(rows int, c arm64.GP) {
	at, stride := m.CopyOf(c), m.Bytes("c.stride")
	for i := range rows {
		m.I("PRFM (R%r), PLDL1KEEP", at)
		if i < rows-1 {
			m.I("ADD R%r, R%m", stride, at)
		}
	}
}

// finish writes the sums, times α, plus β·C. C is not read when β = 0.
func (m machine) finish(sums [][]arm64.Vec, c arm64.GP) {
	stride, last, alpha, beta := m.Bytes("c.stride"), m.Argument("c.last"), m.Number("alpha"), m.Number("beta")
	for _, sum := range sums {
		for v := range sum {
			sum[v] = m.Mul(sum[v], alpha)
		}
	}
	bits := m.GP()
	m.I("%s F%r, R%w", arm64.Of(m.Machine, "FMOVS", "FMOVD"), beta, bits)
	m.I("%s $1, R%m", arm64.Of(m.Machine, "LSLW", "LSL"), bits) // −0 is zero too
	m.I("CMP $%d, R%r", m.Lanes(), last)
	m.I("BNE %j", "part")
	m.write("whole", sums, c, stride, bits, beta)
	m.Jump("written")

	m.Label("part")
	var first [][]arm64.Vec
	for _, sum := range sums {
		first = append(first, sum[:len(sum)-1])
	}
	if len(sums[0]) > 1 {
		m.write("first", first, c, stride, bits, beta)
	}
	// The last vectors go through memory, and from there element by element.
	from := m.Local(len(sums) * arm64.Width)
	for i, sum := range sums {
		m.Store(sum[len(sum)-1], from, i*arm64.Width)
	}
	to, rows := m.GP(), m.GP()
	m.I("ADD $%d, R%r, R%w", (len(sums[0])-1)*arm64.Width, c, to)
	m.I("MOVD $%d, R%w", len(sums), rows)
	m.Label("partRow")
	left, x, y := m.CopyOf(last), m.CopyOf(from), m.CopyOf(to)
	m.Label("partElement")
	v := m.LoadElement(x, 0)
	m.I("CBZ R%r, %j", bits, "partStore")
	m.AddMul(m.LoadElement(y, 0), beta, v)
	m.Label("partStore")
	m.StoreElement(v, y, 0)
	m.I("ADD $%d, R%m", m.Size, x)
	m.I("ADD $%d, R%m", m.Size, y)
	m.Repeat("partElement", left)
	m.I("ADD $%d, R%m", arm64.Width, from)
	m.I("ADD R%r, R%m", stride, to)
	m.Repeat("partRow", rows)
	m.Label("written")
}

// write writes whole vectors, which are in sums, plus β·C unless the bits of β are 0.
func (m machine) write(label string, sums [][]arm64.Vec, c, stride, bits arm64.GP, beta arm64.Vec) {
	m.I("CBZ R%r, %j", bits, label+"Store")
	from := m.CopyOf(c)
	for i, sum := range sums {
		old := m.Vecs(len(sum))
		m.LoadTo(old, from, 0)
		for v := range sum {
			m.AddMul(old[v], beta, sum[v])
		}
		if i < len(sums)-1 {
			m.I("ADD R%r, R%m", stride, from)
		}
	}
	m.Label(label + "Store")
	to := m.CopyOf(c)
	for i, sum := range sums {
		m.StoreAll(sum, to, 0)
		if i < len(sums)-1 {
			m.I("ADD R%r, R%m", stride, to)
		}
	}
}
