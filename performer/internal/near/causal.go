package near

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Base is the weights of keys that are not near, and the exact weights of those that are.
type Base[T dense.Float] struct {
	Engine *sums.Engine[T] // undivided, of logarithms of features with a Mixer
	Scores tiles.Scores    // of points of the dimension of a call
}

// Stride returns the number of keys that become far at a time. With as many keys as features, near
// keys cost no more than features do, nor does a product with the matrix of the Mixer.
func (b *Base[T]) Stride() int { return b.Engine.M }

// tokens are the queries, keys and values of a call, of some heads over one, and where outputs go.
type tokens[T dense.Float] struct{ dst, q, k, v dense.Matrix[T] }

// nearRows is the number of queries that are worth handing to another processor.
const nearRows = 64

// Far is the sums over the far keys of a head, and the task of answering queries from them and from
// the near keys.
type Far[T dense.Float] struct {
	Base[T]
	tokens[T]
	valid  []bool // keys that count; nil are all
	past   int
	causal bool // query i sees the keys j ≤ i + past

	sums, mixed *sums.Accumulator[T] // S of the keys before near, and what queries ask
	reader      sums.Reader[T]
	absorbed    int  // keys in S, those that do not count too
	seen        bool // some of them count

	lo, hi int // queries with the same near keys
	near   int // the first key with exact weights
}

// Causal answers the queries of a head, at least one, over the keys up to their own, with exact
// weights for the keys of their own block of Stride keys, and those of the base for the keys
// before. Query i is that of key i + past; past is not negative. Keys count if they are valid, or
// all if valid is nil.
func Causal[T dense.Float](b Base[T], dst, q, k, v dense.Matrix[T], valid []bool, past int) {
	w := pool.Get[Far[T]](&fars)
	w.Base, w.tokens, w.valid, w.past, w.causal = b, tokens[T]{dst, q, k, v}, valid, past, true
	w.run()
	*w = Far[T]{reader: w.reader}
	pool.Put(&fars, w)
}

var fars pool.Pair[Far[float32], Far[float64]]

// run answers all queries, those with the same first near key together.
func (w *Far[T]) run() {
	stride := w.Stride()
	w.prepare(w.v.Cols)
	for w.lo = 0; w.lo < w.q.Rows; w.lo = w.hi {
		at := (w.lo + w.past) / stride
		w.hi = min((at+1)*stride-w.past, w.q.Rows)
		w.near = min(at*stride, w.k.Rows)
		if w.absorbed < w.near {
			for w.absorbed < w.near {
				w.absorb(min(w.absorbed+stride, w.near))
			}
			w.Mix()
		}
		parallel.Do((w.hi-w.lo+nearRows-1)/nearRows, w)
	}
	w.Engine.Drop(w.sums)
	w.Engine.Drop(w.mixed)
	w.reader.Release(w.Engine)
}

// NewFar returns the sums of a stream without tokens, for values of dimension dv.
func NewFar[T dense.Float](b Base[T], dv int) *Far[T] {
	w := &Far[T]{Base: b}
	w.prepare(dv)
	return w
}

// Sums returns the sums of the far keys.
func (w *Far[T]) Sums() *sums.Accumulator[T] { return w.sums }

// Absorb adds keys of a stream and their values to the sums. Mix makes the sums ready for queries.
func (w *Far[T]) Absorb(k, v dense.Matrix[T]) {
	w.k, w.v = k, v
	for w.absorbed = 0; w.absorbed < k.Rows; {
		w.absorb(min(w.absorbed+w.Stride(), k.Rows))
	}
	w.tokens = tokens[T]{}
}

// Attend answers queries of a stream, all of which see the near keys k with the values v, and the
// far keys if there are any.
func (w *Far[T]) Attend(dst, q, k, v dense.Matrix[T], anyFar bool) {
	w.tokens, w.seen = tokens[T]{dst, q, k, v}, anyFar
	w.lo, w.hi, w.near = 0, q.Rows, 0
	parallel.Do((q.Rows+nearRows-1)/nearRows, w)
	w.tokens = tokens[T]{}
}

// prepare empties the sums, for values of dimension dv.
func (w *Far[T]) prepare(dv int) {
	w.sums, w.mixed = w.Engine.Accumulator(dv), w.Engine.Accumulator(dv)
}

// Mix makes S ready for queries.
func (w *Far[T]) Mix() { w.reader.Prepare(w.Engine, w.mixed, w.sums, dense.Matrix[T]{}) }

// absorb adds the keys up to end to S.
func (w *Far[T]) absorb(end int) {
	valid := w.valid
	if valid != nil {
		valid = valid[w.absorbed:end]
	}
	k, v, copies := layout.ValidOnly(w.k.RowRange(w.absorbed, end), w.v.RowRange(w.absorbed, end), valid)
	w.Engine.Add(w.sums, k, v, 0, k.Rows)
	w.seen = w.seen || k.Rows > 0
	copies.Release()
	w.absorbed = end
}

// Piece answers some of the queries lo ≤ i < hi.
func (w *Far[T]) Piece(i int) {
	lo := w.lo + i*nearRows
	hi := min(lo+nearRows, w.hi)
	q, dst := w.q.RowRange(lo, hi), w.dst.RowRange(lo, hi)
	k, v := w.k.RowRange(w.near, w.k.Rows), w.v.RowRange(w.near, w.v.Rows)
	mask := tiles.Mask[T]{Causal: w.causal, Past: lo + w.past - w.near}
	if w.valid != nil {
		mask.Valid = w.valid[w.near:]
	}
	t := tiles.NewTile(w.Scores, q, w.v.Cols)
	t.AddSeen(k, v, mask, 0)
	if w.seen {
		w.join(t, dst, q)
	} else {
		t.Finish(dst)
	}
	t.Release()
}

// join adds the sums of the near keys to those of the far keys, and writes the outputs.
func (w *Far[T]) join(t *tiles.Tile[T], dst, q dense.Matrix[T]) {
	e := w.Engine
	s := e.Workspace(w.v.Cols)
	for lo := 0; lo < q.Rows; lo += e.Rows() {
		hi := min(lo+e.Rows(), q.Rows)
		answers := w.reader.Read(e, s, q.RowRange(lo, hi), func(i int) T {
			_, total, peak := t.Sums(lo + i)
			own := logscale.NewScale(peak, 0)
			return total * T(logscale.Ldexp(own.Factor/s.Scales[i].Factor, own.Exponent-s.Scales[i].Exponent))
		})
		join(e, t, lo, dst.RowRange(lo, hi), answers, s.Scales)
	}
	e.Release(s)
}

// join writes the outputs of queries from query first of a tile on: their sums of near keys, with
// the sums far, which are relative to scales. It overwrites far.
func join[T dense.Float](e *sums.Engine[T], t *tiles.Tile[T], first int, dst, far dense.Matrix[T], scales []logscale.Scale) {
	for i := range dst.Rows {
		out, row := dst.Row(i), far.Row(i)
		near, total, peak := t.Sums(first + i)
		relative := scales[i]
		// Both are brought to the larger of the two references.
		own := logscale.NewScale(peak, 0)
		ratio := logscale.Ldexp(relative.Factor/own.Factor, relative.Exponent-own.Exponent)
		byNear, byFar := T(1), T(ratio)
		if ratio > 1 {
			byNear, byFar = T(1/ratio), 1
		} else {
			relative = own
		}
		for j := range out {
			row[j] = byNear*near[j] + byFar*row[j]
		}
		if e.Unnormalised {
			logscale.Apply(out, row, relative)
			continue
		}
		logscale.Divide(out, row, byNear*total+byFar*row[len(out)])
	}
}
