package rankone

import "fmt"

// several is a kernel of tokens that correct nothing and have no decays. A row of S stays
// in registers while the tokens of a group pass it one after another. The kernel takes so many
// vectors of the columns of a panel at a time.
type several[V, G, L any] struct {
	machine[V, G, L]
	vectors              int
	tokens               int   // of a group, 4 or 1
	writes, reads, pasts [][]V // by the token: u, and sums of queries times S and times Older
	older                G     // from S to Older

	step             G // from a row of the panel to the next
	column, t, heads L // the first column in bytes, the first token, heads that are left
	queries, to      L // the queries and the outputs of a head
}

func (k *several[V, G, L]) write() {
	k.Begin(fmt.Sprintf("add%dBy%d", k.vectors, k.tokens), "(p *Pass[T])",
		fmt.Sprintf("takes the tokens p.first ≤ t < p.end, %d at a time, through %d columns at a time.", k.tokens, k.vectors*k.Lanes()))
	k.open()
	for range k.tokens {
		k.writes, k.reads = append(k.writes, k.accumulators(k.vectors)), append(k.reads, k.accumulators(k.vectors))
		k.pasts = append(k.pasts, k.accumulators(k.vectors))
	}
	k.step = k.load("Width")
	k.InBytes(k.step)
	k.older = k.distance("S", "Older")
	k.column, k.t, k.heads, k.queries, k.to = k.local(), k.local(), k.local(), k.local(), k.local()
	k.reset(k.column)
	k.Label("columns")
	k.set(k.t, k.load("first"))
	k.Label("tokens")
	k.begin()
	k.Label("head")
	for _, sums := range [][][]V{k.reads, k.pasts} {
		for _, sum := range sums {
			for _, v := range sum {
				k.clear(v)
			}
		}
	}
	k.ifOne(k.heads, "lastHead")
	k.pairs(false)
	k.Jump("answer")
	k.Label("lastHead")
	k.pairs(true)
	k.Label("answer")
	k.answer()
	k.repeat("head", k.heads)
	k.until("tokens", k.t, k.tokens, k.load("end"))
	k.until("columns", k.column, k.vectors*k.Width(), k.step)
	k.End()
}

// columns returns the columns of a matrix in the rows of the tokens.
func (k *several[V, G, L]) columns(matrix string) []G {
	first := k.row(matrix, k.get(k.t))
	k.plus(first, k.column)
	return k.rowsFrom(first, matrix, k.tokens)
}

// numbers returns the address of the elements of a slice from the first token on.
func (k *several[V, G, L]) numbers(slice string) []G {
	at := k.load(slice)
	k.skip(at, k.get(k.t))
	return []G{at}
}

// begin sets u of the tokens, and prefetches values and outputs of the next.
func (k *several[V, G, L]) begin() {
	values, beta := k.columns("V"), k.numbers("Beta")
	for j, u := range k.writes {
		k.loadScaled(u, values, j, k.element(beta, 0, j*k.size()))
		k.prefetch(values, j, k.vectors*k.Width())
	}
	out := k.columns("Out")
	for j := range k.tokens {
		k.prefetch(out, j, k.vectors*k.Width())
	}
	k.set(k.to, out[0])
	k.set(k.queries, k.row("Q", k.get(k.t)))
	k.set(k.heads, k.load("Heads"))
}

func (k *several[V, G, L]) size() int { return 1 << k.Shift() }

// pairs writes a loop over the rows of S, two by two, for the queries of a head. Only the last head
// advances S.
func (k *several[V, G, L]) pairs(advances bool) {
	suffix := "Peek"
	if advances {
		suffix = "Advance"
	}
	keys := k.rowsFrom(k.row("K", k.get(k.t)), "K", k.tokens)
	readers := k.rowsFrom(k.get(k.queries), "Q", k.tokens)
	row, left := k.load("S"), k.load("Rows")
	k.plus(row, k.column)
	k.byTwo(left, suffix, func() {
		for odd := range 2 {
			k.take(row, keys, readers, odd, advances)
			k.AdvanceBy(row, k.step)
		}
		k.advance(keys, 2*k.size())
		k.advance(readers, 2*k.size())
	}, func() { k.take(row, keys, readers, 0, advances) })
}

func (k *several[V, G, L]) take(row G, keys, readers []G, odd int, advances bool) {
	s := k.Vecs(k.vectors)
	k.loadAll(s, []G{row}, 0, 0)
	old := k.Vecs(k.vectors)
	k.loadBehind(old, row, k.older)
	if advances {
		for _, r := range [][]G{keys, readers} {
			k.prefetch(r, 2*odd, 1)
			k.prefetch(r, 2*odd+1, 1)
		}
	}
	for j := range k.tokens {
		a := k.element(keys, j, odd*k.size())
		k.addScaled(s, k.writes[j], a)
		q := k.element(readers, j, odd*k.size())
		k.addScaled(k.reads[j], s, q)
		k.addScaled(k.pasts[j], old, q)
	}
	if advances {
		k.storeAll(s, []G{row}, 0, 0)
	}
}

// answer writes the scaled answers of the tokens, and goes to the next head.
func (k *several[V, G, L]) answer() {
	out, scale := k.rowsFrom(k.get(k.to), "Out", k.tokens), k.numbers("Scale")
	for j, answer := range k.reads {
		s := k.element(scale, 0, j*k.size())
		for x, v := range answer {
			k.Add(v, k.pasts[j][x], v)
		}
		k.scale(answer, s)
	}
	k.unlessAdded("write")
	for j, answer := range k.reads {
		k.addAll(answer, out, j)
	}
	k.Label("write")
	for j, answer := range k.reads {
		k.storeAll(answer, out, j, 0)
	}
	for i, elements := range []string{"QueryHead", "OutHead"} {
		n := k.load(elements)
		k.InBytes(n)
		k.increase([]L{k.queries, k.to}[i], n)
	}
}
