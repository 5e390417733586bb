package local

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Base holds the weights of earlier keys and the exact weights of local keys.
type Base[T dense.Float] struct {
	Engine *sums.Engine[T] // undivided, of logarithms of features with a Mixer
	Scores tiles.Scores    // of points of the dimension of a call
}

// Stride returns the number of keys of a block. With as many keys as features, local keys cost no
// more than the features and the product with the matrix of the Mixer.
func (b *Base[T]) Stride() int { return b.Engine.M }

// tokens holds the outputs, queries, keys and values of a call.
type tokens[T dense.Float] struct{ dst, q, k, v dense.Matrix[T] }

// blockRows is the number of queries of a piece.
const blockRows = 64

// Earlier holds the sums over the earlier keys of a head, and computes outputs from these sums and
// the local keys.
type Earlier[T dense.Float] struct {
	Base[T]
	tokens[T]
	valid  []bool // keys that count; nil if all do
	past   int
	causal bool // query i sees the keys j ≤ i + past

	sums, mixed *sums.Accumulator[T] // S, and the sums that queries read
	reader      sums.Reader[T]
	absorbed    int  // number of keys in S, with keys that do not count
	seen        bool // a key in S counts

	lo, hi     int // queries with the same local keys
	firstLocal int // first key with exact weights
}

// Causal computes the outputs of at least one query of a head. The keys of the block of Stride keys
// of a query have exact weights, and the keys of earlier blocks have the weights of the engine.
// Query i sees the keys j ≤ i + past that are valid. past is not negative, and a nil valid means
// that all keys are.
func Causal[T dense.Float](b Base[T], dst, q, k, v dense.Matrix[T], valid []bool, past int) {
	w := pool.Get[Earlier[T]](&earliers)
	w.Base, w.tokens, w.valid, w.past, w.causal = b, tokens[T]{dst, q, k, v}, valid, past, true
	w.run()
	*w = Earlier[T]{reader: w.reader}
	pool.Put(&earliers, w)
}

var earliers pool.Pair[Earlier[float32], Earlier[float64]]

// run computes all outputs, for the queries with the same first local key together.
func (w *Earlier[T]) run() {
	stride := w.Stride()
	w.prepare(w.v.Cols)
	for w.lo = 0; w.lo < w.q.Rows; w.lo = w.hi {
		at := (w.lo + w.past) / stride
		w.hi = min((at+1)*stride-w.past, w.q.Rows)
		w.firstLocal = min(at*stride, w.k.Rows)
		if w.absorbed < w.firstLocal {
			for w.absorbed < w.firstLocal {
				w.absorb(min(w.absorbed+stride, w.firstLocal))
			}
			w.Mix()
		}
		parallel.Do((w.hi-w.lo+blockRows-1)/blockRows, w)
	}
	w.Engine.Drop(w.sums)
	w.Engine.Drop(w.mixed)
	w.reader.Release(w.Engine)
}

// NewEarlier returns the sums of a stream without tokens, for values of dimension dv.
func NewEarlier[T dense.Float](b Base[T], dv int) *Earlier[T] {
	w := &Earlier[T]{Base: b}
	w.prepare(dv)
	return w
}

// Sums returns the sums over the earlier keys.
func (w *Earlier[T]) Sums() *sums.Accumulator[T] { return w.sums }

// Absorb adds keys of a stream and their values to the sums. Mix makes the sums ready for queries.
func (w *Earlier[T]) Absorb(k, v dense.Matrix[T]) {
	w.k, w.v = k, v
	for w.absorbed = 0; w.absorbed < k.Rows; {
		w.absorb(min(w.absorbed+w.Stride(), k.Rows))
	}
	w.tokens = tokens[T]{}
}

// Attend computes the outputs of queries of a stream over the local keys k with the values v, and
// over the earlier keys if there are any.
func (w *Earlier[T]) Attend(dst, q, k, v dense.Matrix[T], anyEarlier bool) {
	w.tokens, w.seen = tokens[T]{dst, q, k, v}, anyEarlier
	w.lo, w.hi, w.firstLocal = 0, q.Rows, 0
	parallel.Do((q.Rows+blockRows-1)/blockRows, w)
	w.tokens = tokens[T]{}
}

// prepare allocates empty sums, for values of dimension dv.
func (w *Earlier[T]) prepare(dv int) {
	w.sums, w.mixed = w.Engine.Accumulator(dv), w.Engine.Accumulator(dv)
}

// Mix makes S ready for queries.
func (w *Earlier[T]) Mix() { w.reader.Prepare(w.Engine, w.mixed, w.sums, dense.Matrix[T]{}) }

// absorb adds the keys up to end to S.
func (w *Earlier[T]) absorb(end int) {
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

// Piece computes the outputs of some of the queries lo ≤ i < hi.
func (w *Earlier[T]) Piece(i int) {
	lo := w.lo + i*blockRows
	hi := min(lo+blockRows, w.hi)
	q, dst := w.q.RowRange(lo, hi), w.dst.RowRange(lo, hi)
	k, v := w.k.RowRange(w.firstLocal, w.k.Rows), w.v.RowRange(w.firstLocal, w.v.Rows)
	mask := tiles.Mask[T]{Causal: w.causal, Past: lo + w.past - w.firstLocal}
	if w.valid != nil {
		mask.Valid = w.valid[w.firstLocal:]
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

// join adds the sums over local keys to the sums over earlier keys, and writes the outputs.
func (w *Earlier[T]) join(t *tiles.Tile[T], dst, q dense.Matrix[T]) {
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

// join writes the outputs of the queries from query first of a tile on. earlier holds their sums
// over earlier keys, relative to scales, and is overwritten.
func join[T dense.Float](e *sums.Engine[T], t *tiles.Tile[T], first int, dst, earlier dense.Matrix[T], scales []logscale.Scale) {
	for i := range dst.Rows {
		out, row := dst.Row(i), earlier.Row(i)
		sums, total, peak := t.Sums(first + i)
		relative := scales[i]
		// The larger of the two references becomes the common reference.
		own := logscale.NewScale(peak, 0)
		ratio := logscale.Ldexp(relative.Factor/own.Factor, relative.Exponent-own.Exponent)
		localFactor, earlierFactor := T(1), T(ratio)
		if ratio > 1 {
			localFactor, earlierFactor = T(1/ratio), 1
		} else {
			relative = own
		}
		for j := range out {
			row[j] = localFactor*sums[j] + earlierFactor*row[j]
		}
		if e.Unnormalised {
			logscale.Apply(out, row, relative)
			continue
		}
		logscale.Divide(out, row, localFactor*total+earlierFactor*row[len(out)])
	}
}
