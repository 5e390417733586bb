package rankone

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

// neon is a machine of arm64. Rows of tokens are the addresses of all rows.
type neon struct {
	arm64.Machine
	pass arm64.GP
}

// WriteARM64 writes the kernels of arm64.
func WriteARM64(f *arm64.File) {
	for _, m := range arm64.Machines(f) {
		write[arm64.Vec, arm64.GP, arm64.GP](&neon{Machine: m}, 2)
	}
}

func (m *neon) open()                          { m.pass = m.Argument("p") }
func (m *neon) accumulators(n int) []arm64.Vec { return m.Vecs(n) }
func (m *neon) clear(v arm64.Vec)              { m.Into(v).Zero() }

func (m *neon) counter() arm64.GP {
	n := m.GP()
	m.reset(n)
	return n
}

func (m *neon) next(t arm64.GP, field, label string) { m.until(label, t, 1, m.load(field)) }

func (m *neon) following(t arm64.GP, field string) arm64.GP {
	next := m.GP()
	m.I("ADD $1, R%r, R%w", t, next)
	m.I("CMP R%r, R%r", m.load(field), next)
	m.I("CSEL EQ, R%r, R%r, R%w", t, next, next)
	return next
}

func (m *neon) unlessAdded(label string) {
	added := m.GP()
	m.I("MOVBU %d(R%r), R%w", offset("added"), m.pass, added)
	m.I("CBZ R%r, %j", added, label)
}

func (m *neon) load(path string) arm64.GP {
	v := m.GP()
	m.I("MOVD %d(R%r), R%w", offset(path), m.pass, v)
	return v
}

func (m *neon) distance(from, to string) arm64.GP {
	d := m.load(to)
	m.I("SUB R%r, R%m", m.load(from), d)
	return d
}

func (m *neon) row(matrix string, t arm64.GP) arm64.GP {
	at, stride := m.load(matrix+".Data"), m.load(matrix+".Stride")
	m.I("MUL R%r, R%m", t, stride)
	m.skip(at, stride)
	return at
}

func (m *neon) skip(p, elements arm64.GP) { m.I("ADD R%r<<%d, R%m", elements, m.Shift(), p) }

func (m *neon) reusable(p arm64.GP) arm64.GP { return m.CopyOf(p) }

func (m *neon) loadAll(into []arm64.Vec, r []arm64.GP, j, offset int) { m.LoadTo(into, r[j], offset) }

func (m *neon) loadScaled(into []arm64.Vec, r []arm64.GP, j int, by number[arm64.Vec]) {
	m.LoadTo(into, r[j], 0)
	m.scale(into, by)
}

func (m *neon) loadBehind(into []arm64.Vec, row, distance arm64.GP) {
	at := m.GP()
	m.I("ADD R%r, R%r, R%w", distance, row, at)
	m.LoadTo(into, at, 0)
}

func (m *neon) addAll(into []arm64.Vec, r []arm64.GP, j int) {
	v := m.Vecs(len(into))
	m.LoadTo(v, r[j], 0)
	kernel.Each(m.Add, into, v, into)
}

func (m *neon) storeAll(v []arm64.Vec, r []arm64.GP, j, offset int) { m.StoreAll(v, r[j], offset) }

func (m *neon) element(r []arm64.GP, j, offset int) number[arm64.Vec] {
	return number[arm64.Vec]{v: m.LoadElement(r[j], offset)}
}

func (m *neon) scale(v []arm64.Vec, by number[arm64.Vec]) {
	for _, v := range v {
		m.Into(v).MulLane(v, by.v, by.lane)
	}
}

func (m *neon) addScaled(into, v []arm64.Vec, by number[arm64.Vec]) {
	for x, sum := range into {
		m.PlusLane(sum, v[x], by.v, by.lane)
	}
}

func (m *neon) subScaled(into, v []arm64.Vec, by number[arm64.Vec]) {
	for x, sum := range into {
		m.MinusLane(sum, v[x], by.v, by.lane)
	}
}

func (m *neon) addRow(into []arm64.Vec, row arm64.GP, offset int, by number[arm64.Vec]) {
	s := m.Vecs(len(into))
	m.LoadTo(s, row, offset)
	m.addScaled(into, s, by)
}

func (m *neon) decaysOf(t arm64.GP) decays[arm64.GP] {
	d, size := decays[arm64.GP]{m.row("Decays", t), m.GP()}, m.GP()
	m.I("MOVD $%d, R%w", m.Size, size)
	m.I("CMP $1, R%r", m.load("Decays.Cols"))
	m.I("CSEL EQ, ZR, R%r, R%w", size, d.step)
	return d
}

func (m *neon) decayed(into []arm64.Vec, row arm64.GP, offset, _ int, d decays[arm64.GP]) {
	m.LoadTo(into, row, offset)
	g := m.LoadElement(d.at, 0)
	m.AdvanceBy(d.at, d.step)
	m.scale(into, number[arm64.Vec]{v: g})
}

func (m *neon) rows(id, vectors int, coefficients []arm64.GP, _ *decays[arm64.GP], _ *arm64.GP, body func(odd int, row arm64.GP, of func(c int) number[arm64.Vec])) {
	row, left := m.load("S"), m.load("Rows")
	// each writes the body for one row or for two, whose coefficients are adjacent.
	each := func(rows int) {
		var of []arm64.Vec
		for _, p := range coefficients {
			v, bytes := m.Vec(), rows*m.Size
			m.I("%s %d(R%m), F%w", map[int]string{4: "FMOVS.P", 8: "FMOVD.P", 16: "FMOVQ.P"}[bytes], bytes, p, v)
			of = append(of, v)
		}
		for odd := range rows {
			body(odd, row, func(c int) number[arm64.Vec] { return number[arm64.Vec]{of[c], odd} })
		}
	}
	m.byTwo(left, fmt.Sprint(id), func() {
		each(2)
		m.Advance(row, 2*vectors*arm64.Width)
	}, func() { each(1) })
}

func (m *neon) local() arm64.GP                 { return m.GP() }
func (m *neon) reset(l arm64.GP)                { m.I("MOVD $0, R%w", l) }
func (m *neon) set(l, value arm64.GP)           { m.I("MOVD R%r, R%w", value, l) }
func (m *neon) get(l arm64.GP) arm64.GP         { return m.CopyOf(l) }
func (m *neon) plus(p, l arm64.GP)              { m.AdvanceBy(p, l) }
func (m *neon) increase(l, n arm64.GP)          { m.AdvanceBy(l, n) }
func (m *neon) repeat(label string, l arm64.GP) { m.Repeat(label, l) }

func (m *neon) until(label string, l arm64.GP, n int, limit arm64.GP) {
	m.Advance(l, n)
	m.I("CMP R%r, R%r", limit, l)
	m.I("BLT %j", label)
}

func (m *neon) ifOne(l arm64.GP, label string) {
	m.I("CMP $1, R%r", l)
	m.I("BEQ %j", label)
}

func (m *neon) rowsFrom(first arm64.GP, matrix string, tokens int) []arm64.GP {
	stride := m.load(matrix + ".Stride")
	m.InBytes(stride)
	return m.Pointers(first, stride, tokens)
}

func (m *neon) advance(r []arm64.GP, bytes int) {
	for _, p := range r {
		m.Advance(p, bytes)
	}
}

func (m *neon) prefetch([]arm64.GP, int, int) {}

func (m *neon) byTwo(left arm64.GP, suffix string, pair, one func()) {
	m.I("SUBS $2, R%m", left)
	m.I("BLT %j", "last"+suffix)
	m.Label("pair" + suffix)
	pair()
	m.I("SUBS $2, R%m", left)
	m.I("BGE %j", "pair"+suffix)
	m.Label("last" + suffix)
	m.I("CMN $2, R%r", left)
	m.I("BEQ %j", "done"+suffix)
	one()
	m.Label("done" + suffix)
}
