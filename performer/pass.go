package performer

import (
	"fmt"
	"runtime"
	"slices"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// pass is a forward or backward pass over all heads and sequences. A piece of a forward pass is a
// unit in a sequence. A piece of a backward pass is a head of keys in a sequence.
type pass[T dense.Float] struct {
	b                *batch[T]
	q, out, dq, dout operand[T] // of the heads of queries
	k, v, dk, dv     operand[T] // of the heads of keys
	sequences        int
	backward         bool

	past    []int  // of each sequence; nil means 0
	valid   []bool // of the keys of each sequence; nil if all keys count
	perHead bool   // valid is of each head of queries in each sequence

	bias   dense.Tensor[T]
	mask   dense.Tensor[bool] // of pairs of queries and keys
	scores dense.Tensor[T]
	stage  sequence.Stage

	logSums dense.Tensor[T] // (B, H, Lq, 1), of no rows unless the caller wants it
	biases  dense.Tensor[T] // gradients of biases before sums over broadcast sides
	sinks   []float64       // gradients of log SinkWeight of each head of each sequence

	fromQuery, fromKey []int // where the sequences of matrices begin, and where the last one ends
}

// operand has a matrix for each head of each sequence: of a tensor, or of a matrix whose heads are
// column blocks and whose sequences follow one another.
type operand[T dense.Float] struct {
	dense.Tensor[T]
	from []int // the first row of each sequence of a matrix; nil for a tensor
}

func (o *operand[T]) rows(at int) (from, to int) {
	if o.from != nil {
		return o.from[at], o.from[at+1]
	}
	return at * o.Rows, (at + 1) * o.Rows
}

func (o *operand[T]) heads(at, from, to int) dense.Tensor[T] {
	t, start := o.Tensor, from*o.HeadStride
	if first, end := o.rows(at); o.from != nil {
		t.Rows = end - first
		start += first * o.Stride
	} else {
		start += at * o.BatchStride
	}
	if t.Batch, t.Heads = 1, to-from; t.Rows > 0 && t.Cols > 0 {
		t.Data = t.Data[start:]
	}
	return t
}

func (o *operand[T]) head(at, h int) dense.Matrix[T] { return dense.Head(o.heads(at, h, h+1), 0, 0) }

var passes pool.Pair[pass[float32], pass[float64]]

func (b *batch[T]) matrices(q, k, v dense.Matrix[T], s Sequences) (*pass[T], error) {
	if err := b.fits(q, k, v); err != nil {
		return nil, err
	}
	if err := s.fits(q.Rows, k.Rows); err != nil {
		return nil, err
	}
	p := pool.Get[pass[T]](&passes)
	fromQuery, fromKey := layout.Starts(p.fromQuery[:0], s.Queries, q.Rows), layout.Starts(p.fromKey[:0], s.lengthsOfKeys(), k.Rows)
	*p = pass[T]{b: b, fromQuery: fromQuery, fromKey: fromKey, sequences: len(fromQuery) - 1, past: s.Past, valid: s.Valid}
	p.q, p.k, p.v = p.queries(q), p.keys(k), p.keys(v)
	return p, p.check()
}

func (p *pass[T]) queries(m dense.Matrix[T]) operand[T] {
	return operand[T]{dense.SplitHeads(m, 1, p.b.heads), p.fromQuery}
}

func (p *pass[T]) keys(m dense.Matrix[T]) operand[T] {
	return operand[T]{dense.SplitHeads(m, 1, p.b.keyHeads), p.fromKey}
}

func (b *batch[T]) check(q, k, v dense.Matrix[T], s Sequences) error {
	p, err := b.matrices(q, k, v, s)
	if err == nil {
		p.release()
	}
	return err
}

// mustFit is matrices for callers that panic. If alone is true, causal attention of one head needs
// as many queries as keys.
func (b *batch[T]) mustFit(q, k, v dense.Matrix[T], s Sequences, alone bool) *pass[T] {
	p, err := b.matrices(q, k, v, s)
	if err == nil && alone && b.single && b.units[0].Causal && q.Rows != k.Rows {
		err = fmt.Errorf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	if err != nil {
		panic(err.Error())
	}
	return p
}

func (b *batch[T]) forward(dst, q, k, v dense.Matrix[T], s Sequences, alone bool) dense.Matrix[T] {
	p := b.mustFit(q, k, v, s, alone)
	dst = dense.Ensure(dst, q.Rows, v.Cols/b.keyHeads*b.heads)
	p.out = p.queries(dst)
	p.run()
	p.release()
	return dst
}

func (b *batch[T]) backward(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences, alone bool) (_, _, _ dense.Matrix[T]) {
	if err := b.canBackward(); err != nil {
		panic(err.Error())
	}
	p := b.mustFit(q, k, v, s, alone)
	dout.Check()
	if width := v.Cols / b.keyHeads * b.heads; dout.Rows != q.Rows || dout.Cols != width {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, width))
	}
	dq, dk, dv = dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols)
	p.backward, p.dq, p.dout, p.dk, p.dv = true, p.queries(dq), p.queries(dout), p.keys(dk), p.keys(dv)
	p.run()
	p.release()
	return dq, dk, dv
}

func (p *pass[T]) check() error {
	for i := range p.b.units {
		u := &p.b.units[i]
		const want = "want an Exact, which has scores"
		switch {
		case u.Pairs:
		case !p.bias.IsZero():
			return fmt.Errorf("performer: Bias is %v for %s, %s", p.bias.Shape(), u.name(), want)
		case !p.mask.IsZero():
			return fmt.Errorf("performer: Mask is %v for %s, %s, or a Mask with one row", p.mask.Shape(), u.name(), want)
		case p.stage != sequence.NoScores:
			return fmt.Errorf("performer: Scores = %d for %s, %s", p.stage, u.name(), want)
		case p.logSums.Cols > 0:
			return fmt.Errorf("performer: LogSums for %s, %s", u.name(), want)
		}
		if u.Masks || p.valid == nil && p.past == nil {
			continue
		}
		heads := 1
		if p.perHead {
			heads = p.b.heads
		}
		for at := range p.sequences {
			if past := p.pastOf(at); past != 0 {
				return fmt.Errorf("performer: sequence %d has a past of %d, which %s cannot take", at, past, u.name())
			}
			for h := range heads {
				if p.validOf(at, h) != nil {
					return fmt.Errorf("performer: sequence %d has keys that do not count, which %s cannot take", at, u.name())
				}
			}
		}
	}
	return nil
}

// validOf returns which keys of a sequence count for a head of queries, or nil if all keys count.
func (p *pass[T]) validOf(at, h int) []bool {
	if p.valid == nil {
		return nil
	}
	if p.perHead {
		at = at*p.b.heads + h
	}
	from, to := p.k.rows(at)
	if valid := p.valid[from:to]; slices.Contains(valid, false) {
		return valid
	}
	return nil
}

func (p *pass[T]) pastOf(at int) int {
	if p.past == nil {
		return 0
	}
	return min(max(p.past[at], -farthest), farthest)
}

func (p *pass[T]) pieces() int {
	if p.backward {
		return p.b.keyHeads
	}
	return p.b.count
}

// run computes the pieces in parallel while there are enough for all processors, and the last
// pieces one after another with the parallelism of the attention.
func (p *pass[T]) run() {
	n, processors := p.sequences*p.pieces(), runtime.GOMAXPROCS(0)
	together := n / processors * processors
	parallel.Do(together, p)
	for i := together; i < n; i++ {
		p.piece(i, processors)
	}
}

func (p *pass[T]) release() {
	*p = pass[T]{fromQuery: p.fromQuery, fromKey: p.fromKey}
	pool.Put(&passes, p)
}

func (p *pass[T]) Piece(i int) { p.piece(i, 1) }

func (p *pass[T]) piece(i, processors int) {
	at, piece := i/p.pieces(), i%p.pieces()
	if p.backward {
		p.differentiate(at, piece, processors)
		return
	}
	u := p.b.unit(piece)
	if p.bias.IsZero() && p.mask.IsZero() && p.stage == sequence.NoScores && p.logSums.Cols == 0 && !p.perHead {
		from, to := p.q.rows(at)
		if u, ok := p.b.together(u, to-from); ok {
			u.of.Forward(p.call(at, u, processors))
		}
		return
	}
	for h := u.from; h < u.to; h++ {
		c := p.call(at, u.head(h), processors)
		if p.stage != sequence.NoScores {
			c.Stage, c.Scores = p.stage, dense.Head(p.scores, at, h)
		}
		if p.logSums.Cols > 0 {
			c.LogSums = dense.Head(p.logSums, at, h).Data
		}
		u.of.Forward(c)
	}
}

func (u unit[T]) head(h int) unit[T] {
	u.from, u.to = h, h+1
	return u
}

func (p *pass[T]) call(at int, u unit[T], processors int) sequence.Call[T] {
	key := u.from / (p.b.heads / p.b.keyHeads)
	c := sequence.Call[T]{
		Q: p.q.heads(at, u.from, u.to), K: p.k.head(at, key), V: p.v.head(at, key),
		Valid: p.validOf(at, u.from), Past: p.pastOf(at), Processors: processors,
	}
	if u.Pairs {
		c.Pairs = tiles.Pairs[T]{Bias: p.bias, Mask: p.mask, Sequence: at, Head: u.from}
	}
	if p.backward {
		c.DQ, c.DOut = p.dq.heads(at, u.from, u.to), p.dout.heads(at, u.from, u.to)
	} else {
		c.Out = p.out.heads(at, u.from, u.to)
	}
	return c
}

func (p *pass[T]) differentiate(at, key, processors int) {
	b, group := p.b, p.b.heads/p.b.keyHeads
	first := sort.Search(b.count, func(i int) bool { return b.unit(i).from >= key*group })
	for i := first; i < b.count && b.unit(i).from/group == key; i++ {
		u, step := b.unit(i), 1
		if !p.perHead {
			step = u.to - u.from
		}
		for h, end := u.from, u.to; h < end; h += step {
			u.from, u.to = h, h+step
			c := p.call(at, u, processors)
			if u.Sink && p.sinks != nil {
				c.LogSink = &p.sinks[at*b.heads+h]
			}
			if !p.biases.IsZero() {
				c.Pairs.Gradient = dense.Head(p.biases, at, h)
			}
			addBackward(u.of, c, p.dk.head(at, key), p.dv.head(at, key), h == key*group)
		}
	}
}

// addBackward writes the gradients of a call with respect to keys and values into dk and dv if
// first is true, and otherwise adds the gradients to dk and dv.
func addBackward[T dense.Float](attention sequence.Kind[T], c sequence.Call[T], dk, dv dense.Matrix[T], first bool) {
	if first {
		c.DK, c.DV = dk, dv
		attention.Backward(c)
		return
	}
	var m *layout.Tokens[T]
	m, c.DK, c.DV = layout.TokensOf[T](dk.Rows, dk.Cols, dv.Cols)
	attention.Backward(c)
	for j := range dk.Rows {
		vecmath.AddScaled(dk.Row(j), c.DK.Row(j), 1)
		vecmath.AddScaled(dv.Row(j), c.DV.Row(j), 1)
	}
	m.Release()
}
