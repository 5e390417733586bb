package rankone

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// several is a kernel of tokens that correct nothing and have at most one decay. So many tokens pass
// a row of S one after another while it is in registers. The kernel takes so many vectors of the
// columns of a panel at a time.
type several struct {
	kernel
	tokens               int           // 4 or 1
	writes, reads, pasts [][]arm64.Vec // by the token: u, and what queries read of S and of Older
	factors              []arm64.Vec   // decays

	step        arm64.GP // from a row of the panel to the next
	column, end arm64.GP // the first column, in bytes, and the end of the tokens
	queries, to arm64.GP // the queries of a head, and where the outputs go
}

// writeSeveral writes the kernels of a machine.
func writeSeveral(m arm64.Machine) {
	for _, tokens := range []int{4, 1} {
		for vectors := 1; vectors <= 2; vectors *= 2 {
			for _, decays := range []bool{false, true} {
				k := several{kernel: kernel{Machine: m, vectors: vectors, decays: decays}, tokens: tokens}
				k.write()
			}
		}
	}
}

// each returns vectors for every token.
func (k *several) each() [][]arm64.Vec {
	v := make([][]arm64.Vec, k.tokens)
	for j := range v {
		v[j] = k.Vecs(k.vectors)
	}
	return v
}

func (k *several) write() {
	name := "add"
	if k.decays {
		name = "decayAll"
	}
	k.Begin(fmt.Sprintf("%s%dBy%d", name, k.vectors, k.tokens), "(p *Pass[T])",
		fmt.Sprintf("takes the tokens p.first ≤ t < p.end, %d at a time, through %d columns at a time.", k.tokens, k.vectors*k.Lanes()))
	k.writes, k.reads = k.each(), k.each()
	if k.decays {
		k.factors = k.Vecs(k.tokens)
	} else {
		k.pasts = k.each()
	}
	k.pass = k.Argument("p")
	k.step = k.load("Width")
	k.I("LSL $%d, R%m", k.Shift(), k.step)
	k.end, k.column, k.t = k.load("end"), k.GP(), k.GP()
	k.I("MOVD $0, R%w", k.column)
	k.Label("columns")
	k.I("MOVD %d(R%r), R%w", offset("first"), k.pass, k.t)
	k.Label("tokens")
	heads := k.begin()
	k.Label("head")
	for j := range k.tokens {
		for x := range k.vectors {
			k.Into(k.reads[j][x]).Zero()
			if !k.decays {
				k.Into(k.pasts[j][x]).Zero()
			}
		}
	}
	k.I("CMP $1, R%r", heads)
	k.I("BEQ %j", "lastHead")
	k.pairs(false)
	k.I("B %j", "answer")
	k.Label("lastHead")
	k.pairs(true)
	k.Label("answer")
	k.answer()
	k.Repeat("head", heads)
	k.I("ADD $%d, R%m", k.tokens, k.t)
	k.I("CMP R%r, R%r", k.end, k.t)
	k.I("BLT %j", "tokens")
	k.I("ADD $%d, R%m", k.vectors*arm64.Width, k.column)
	k.I("CMP R%r, R%r", k.step, k.column)
	k.I("BLT %j", "columns")
	k.End()
}

// rowsFrom returns the addresses of the rows of a matrix, of the tokens from t, from the address of
// the first on.
func (k *several) rowsFrom(first arm64.GP, matrix string) []arm64.GP {
	stride := k.load(matrix + ".Stride")
	k.I("LSL $%d, R%m", k.Shift(), stride)
	return k.Pointers(first, stride, k.tokens)
}

// begin makes u and the factors of the tokens, and returns the number of heads.
func (k *several) begin() (heads arm64.GP) {
	value, beta := k.row("V", k.t), k.load("Beta")
	k.I("ADD R%r, R%m", k.column, value)
	k.I("ADD R%r<<%d, R%m", k.t, k.Shift(), beta)
	for j, row := range k.rowsFrom(value, "V") {
		strength := k.LoadElement(beta, j*k.Size)
		k.LoadTo(k.writes[j], row, 0)
		for _, v := range k.writes[j] {
			k.Into(v).MulLane(v, strength, 0)
		}
	}
	if k.decays {
		for j, row := range k.rowsFrom(k.row("Decays", k.t), "Decays") {
			k.Into(k.factors[j]).LoadElement(row, 0)
		}
	}
	k.queries, k.to = k.row("Q", k.t), k.row("Out", k.t)
	k.I("ADD R%r, R%m", k.column, k.to)
	return k.load("Heads")
}

// pairs writes a loop over the rows of S, two by two, for the queries of a head. Only the last head
// advances S.
func (k *several) pairs(advances bool) {
	suffix := "Peek"
	if advances {
		suffix = "Advance"
	}
	keys, readers := k.rowsFrom(k.row("K", k.t), "K"), k.rowsFrom(k.CopyOf(k.queries), "Q")
	rows := []arm64.GP{k.load("S")}
	if !k.decays {
		rows = append(rows, k.load("Older"))
	}
	for _, row := range rows {
		k.I("ADD R%r, R%m", k.column, row)
	}
	left := k.load("Rows")
	k.I("SUBS $2, R%m", left)
	k.I("BLT %j", "last"+suffix)
	k.Label("pair" + suffix)
	for odd := range 2 {
		k.pass4(rows, keys, readers, odd, advances)
		for _, row := range rows {
			k.I("ADD R%r, R%m", k.step, row)
		}
	}
	for j := range k.tokens {
		k.I("ADD $%d, R%m", 2*k.Size, keys[j])
		k.I("ADD $%d, R%m", 2*k.Size, readers[j])
	}
	k.I("SUBS $2, R%m", left)
	k.I("BGE %j", "pair"+suffix)
	k.Label("last" + suffix)
	k.I("CMN $2, R%r", left)
	k.I("BEQ %j", "done"+suffix)
	k.pass4(rows, keys, readers, 0, advances)
	k.Label("done" + suffix)
}

// pass4 takes a row through the tokens.
func (k *several) pass4(rows, keys, readers []arm64.GP, odd int, advances bool) {
	s := k.Vecs(k.vectors)
	k.LoadTo(s, rows[0], 0)
	var old []arm64.Vec
	if !k.decays {
		old = k.Vecs(k.vectors)
		k.LoadTo(old, rows[1], 0)
	}
	for j := range k.tokens {
		a := k.LoadElement(keys[j], odd*k.Size)
		for x, v := range s {
			if k.decays {
				k.Into(v).MulLane(v, k.factors[j], 0)
			}
			k.PlusLane(v, k.writes[j][x], a, 0)
		}
		q := k.LoadElement(readers[j], odd*k.Size)
		for x, v := range s {
			k.PlusLane(k.reads[j][x], v, q, 0)
		}
		for x, v := range old {
			k.PlusLane(k.pasts[j][x], v, q, 0)
		}
	}
	if advances {
		k.StoreAll(s, rows[0], 0)
	}
}

// answer writes the scaled answers of the tokens, and goes to the next head.
func (k *several) answer() {
	scale := k.load("Scale")
	k.I("ADD R%r<<%d, R%m", k.t, k.Shift(), scale)
	out := k.rowsFrom(k.CopyOf(k.to), "Out")
	for j, answer := range k.reads {
		s := k.LoadElement(scale, j*k.Size)
		for x, v := range answer {
			if !k.decays {
				k.Into(v).Add(v, k.pasts[j][x])
			}
			k.Into(v).MulLane(v, s, 0)
		}
	}
	k.addOld("write", func() {
		for j, answer := range k.reads {
			old := k.Vecs(k.vectors)
			k.LoadTo(old, out[j], 0)
			for x, v := range answer {
				k.Into(v).Add(v, old[x])
			}
		}
	})
	for j, answer := range k.reads {
		k.StoreAll(answer, out[j], 0)
	}
	k.skip("QueryHead", k.queries)
	k.skip("OutHead", k.to)
}
