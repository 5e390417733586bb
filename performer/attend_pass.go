package performer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

func (b *batch[T]) attend(c AttendArgs[T]) (Result[T], error) {
	a, err := newTensorPass(b.units[0].attention, c)
	if err != nil {
		return Result[T]{}, err
	}
	q, v := a.Q, a.V
	switch {
	case !a.Out.IsZero():
		if want := [4]int{q.Batch, q.Heads, q.Rows, v.Cols}; a.Out.Shape() != want {
			return Result[T]{}, fmt.Errorf("performer: Out is %v, want %v", a.Out.Shape(), want)
		}
		a.Out.Check()
	case q.HeadStride < q.Stride && q.Heads > 1 && q.Batch > 0:
		a.Out = dense.SplitHeads(dense.New[T](q.Batch*q.Rows, q.Heads*v.Cols), q.Batch, q.Heads)
	default:
		a.Out = dense.NewTensor[T](q.Batch, q.Heads, q.Rows, v.Cols)
	}
	a.run(a, q.Batch*a.b.count)
	r := Result[T]{Out: a.Out, K: a.K, V: a.V}
	if c.Scores != NoScores {
		r.Scores = dense.NewTensor[T](q.Batch, q.Heads, q.Rows, a.K.Rows)
		for b := range q.Batch {
			for h := range q.Heads {
				a.scores(b, h, dense.Head(r.Scores, b, h))
			}
		}
	}
	return r, nil
}

func (b *batch[T]) attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	a, err := newTensorPass(b.units[0].attention, c)
	if err != nil {
		return Gradients[T]{}, err
	}
	if err := a.b.CanBackward(); err != nil {
		return Gradients[T]{}, err
	}
	if want := [4]int{a.Q.Batch, a.Q.Heads, a.Q.Rows, a.V.Cols}; dout.Shape() != want {
		return Gradients[T]{}, fmt.Errorf("performer: dout is %v, want %v, a gradient for each output", dout.Shape(), want)
	}
	dout.Check()
	for _, u := range a.b.units {
		if !takesMaskBackward(u.attention) {
			if err := a.checkNoMask(u.attention); err != nil {
				return Gradients[T]{}, err
			}
		}
	}
	if c.LearnBias && c.Bias.IsZero() {
		return Gradients[T]{}, errors.New("performer: LearnBias is set, but there is no Bias")
	}
	g := &tensorGradients[T]{tensorPass: a, dout: dout, Gradients: Gradients[T]{Q: like(a.Q), K: like(a.K), V: like(a.V)}}
	if c.LearnBias {
		g.pairs = dense.NewTensor[T](a.Q.Batch, a.Q.Heads, a.Q.Rows, a.Bias.Cols)
	}
	g.sinks = make([]float64, a.Q.Batch*a.Q.Heads)
	a.run(g, a.Q.Batch*a.K.Heads)
	for h := range a.Q.Heads {
		if e, ok := a.b.Head(h).(exact[T]); !ok || e.SinkWeight == 0 {
			continue
		}
		if g.LogSink == nil {
			g.LogSink = make([]T, a.Q.Heads)
		}
		sum := 0.0
		for b := range a.Q.Batch {
			sum += g.sinks[b*a.Q.Heads+h]
		}
		g.LogSink[h] = T(sum)
	}
	if c.LearnBias {
		g.Bias = summed(g.pairs, a.Bias.Shape())
	}
	return g.Gradients, nil
}

// tensorPass is a forward pass of Attend over tensors. K and V have past and present keys and
// values.
type tensorPass[T dense.Float] struct {
	AttendArgs[T]
	b          *batch[T]
	keyMask    bool     // Mask has one row, and is in valid
	valid      [][]bool // keys that count, of each sequence, or of each head of each sequence; nil if all count
	perHead    bool     // valid is for each head
	processors int
}

// newTensorPass checks the arguments and prepares the keys.
func newTensorPass[T dense.Float](attention Attention[T], c AttendArgs[T]) (*tensorPass[T], error) {
	if err := fitsTensors(&c); err != nil {
		return nil, err
	}
	a := &tensorPass[T]{AttendArgs: c, processors: 1}
	if b, ok := attention.(*batch[T]); ok {
		if a.b = b; b.heads != c.Q.Heads || b.keyHeads != c.K.Heads {
			return nil, fmt.Errorf("performer: Q is %v, K is %v, want heads of a Batch of %d heads of queries and %d of keys",
				c.Q.Shape(), c.K.Shape(), b.heads, b.keyHeads)
		}
	} else {
		var err error
		if a.b, err = newBatch(batchArguments[T]{c.Q.Heads, c.K.Heads, []Attention[T]{attention}}); err != nil {
			return nil, err
		}
	}
	if a.b.dim != 0 && a.b.dim != c.Q.Cols {
		return nil, fmt.Errorf("performer: Q is %v, but the attention takes points of R^%d", c.Q.Shape(), a.b.dim)
	}
	if !c.PastK.IsZero() {
		a.K, a.V = joined(c.PastK, c.K), joined(c.PastV, c.V)
	}
	a.setValid()
	for _, u := range a.b.units {
		if err := a.check(u.attention); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// joined returns a new tensor with the rows of past above the rows of t.
func joined[T dense.Float](past, t dense.Tensor[T]) dense.Tensor[T] {
	all := dense.NewTensor[T](t.Batch, t.Heads, past.Rows+t.Rows, t.Cols)
	for b := range t.Batch {
		for h := range t.Heads {
			dst := dense.Head(all, b, h)
			dense.Copy(dst.RowRange(0, past.Rows), dense.Head(past, b, h))
			dense.Copy(dst.RowRange(past.Rows, dst.Rows), dense.Head(t, b, h))
		}
	}
	return all
}

// setValid sets valid by Lengths and by a Mask with one row.
func (a *tensorPass[T]) setValid() {
	a.keyMask = !a.Mask.IsZero() && a.Mask.Rows == 1
	if a.Lengths == nil && !a.keyMask {
		return
	}
	heads := 1
	if a.perHead = a.keyMask && a.Mask.Heads > 1; a.perHead {
		heads = a.Q.Heads
	}
	all := make([]bool, a.Q.Batch*heads*a.K.Rows)
	for b := range a.Q.Batch {
		for h := range heads {
			var valid []bool
			valid, all = all[:a.K.Rows:a.K.Rows], all[a.K.Rows:]
			counting := len(valid)
			if a.Lengths != nil {
				counting = a.Lengths[b]
			}
			if a.keyMask {
				copy(valid[:counting], a.Mask.Row(min(b, a.Mask.Batch-1), h, 0))
			} else {
				for j := range counting {
					valid[j] = true
				}
			}
			if !slices.Contains(valid, false) {
				valid = nil
			}
			a.valid = append(a.valid, valid)
		}
	}
}

// validOf returns which keys count for a head of queries, or nil if all keys count.
func (a *tensorPass[T]) validOf(b, h int) []bool {
	switch {
	case a.valid == nil:
		return nil
	case a.perHead:
		return a.valid[b*a.Q.Heads+h]
	}
	return a.valid[b]
}

// pastOf returns the number of keys of a sequence before its first query.
func (a *tensorPass[T]) pastOf(b int) int {
	if a.Lengths != nil {
		return a.Lengths[b] - a.Q.Rows
	}
	return a.PastK.Rows
}

// check returns an error if an attention cannot compute what the arguments name.
func (a *tensorPass[T]) check(attention Attention[T]) error {
	if _, ok := attention.(exact[T]); ok {
		return nil
	}
	const want = "want an Exact, which has scores"
	switch {
	case !a.Bias.IsZero():
		return fmt.Errorf("performer: Bias is %v for %T, %s", a.Bias.Shape(), attention, want)
	case !a.Mask.IsZero() && !a.keyMask:
		return fmt.Errorf("performer: Mask is %v for %T, %s, or a Mask with one row", a.Mask.Shape(), attention, want)
	case a.Scores != NoScores:
		return fmt.Errorf("performer: Scores = %d for %T, %s", a.Scores, attention, want)
	case takesMask(attention):
		return nil
	}
	return a.checkNoMask(attention)
}

// checkNoMask returns an error, which names the attention, if there is a past or a key that does
// not count.
func (a *tensorPass[T]) checkNoMask(attention Attention[T]) error {
	for b := range a.Q.Batch {
		if a.pastOf(b) != 0 {
			return fmt.Errorf("performer: sequence %d has a past of %d, which %T cannot take", b, a.pastOf(b), attention)
		}
	}
	for i, valid := range a.valid {
		if valid != nil {
			return fmt.Errorf("performer: sequence %d has keys that do not count, which %T cannot take", i/(len(a.valid)/a.Q.Batch), attention)
		}
	}
	return nil
}

// run computes the n pieces of a pass in parallel while there are enough for all processors, and
// the last pieces one after another with the parallelism of the attention.
func (a *tensorPass[T]) run(t parallel.Task, n int) {
	processors := runtime.GOMAXPROCS(0)
	together := n / processors * processors
	parallel.Do(together, t)
	a.processors = processors
	for i := together; i < n; i++ {
		t.Piece(i)
	}
}

// Piece computes the outputs of a unit of the Batch in a sequence.
func (a *tensorPass[T]) Piece(i int) {
	b, u := i/a.b.count, a.b.unit(i%a.b.count)
	if a.Bias.IsZero() && (a.Mask.IsZero() || a.keyMask && !a.perHead) {
		all, ok := a.b.together(u, a.Q.Rows)
		if !ok {
			return
		}
		if n := all.to - all.from; n > u.to-u.from {
			a.together(b, all.from, n, u.attention)
			return
		}
	}
	s := a.arguments(b, u.from, u.attention)
	var isView, also bool
	s.Q, isView = stacked(a.Q, b, u)
	if s.Dst, also = stacked(a.Out, b, u); isView && also && !a.perHead && !description(u.attention).Causal {
		forwardSequence(u.attention, s)
		return
	}
	for h := u.from; h < u.to; h++ {
		s := a.arguments(b, h, u.attention)
		s.Dst = dense.Head(a.Out, b, h)
		forwardSequence(u.attention, s)
	}
}

// together computes the outputs of n heads from head h on over one head of keys.
func (a *tensorPass[T]) together(b, h, n int, attention Attention[T]) {
	s := a.arguments(b, h, attention)
	m := pool.Get[prefixScratch[T]](&prefixScratches)
	m.q.Shape(a.Q.Rows, n*a.Q.Cols)
	m.out.Shape(a.Q.Rows, n*a.V.Cols)
	s.Q, s.Dst, s.Heads = m.q.Rows(a.Q.Rows), m.out.Rows(a.Q.Rows), n
	for i := range n {
		dense.Copy(layout.Head(s.Q, i, n), dense.Head(a.Q, b, h+i))
	}
	forwardSequence(attention, s)
	for i := range n {
		dense.Copy(dense.Head(a.Out, b, h+i), layout.Head(s.Dst, i, n))
	}
	pool.Put(&prefixScratches, m)
}

// stacked returns the rows of the heads of a unit, one head below another, and whether there is
// such a view.
func stacked[T dense.Float](t dense.Tensor[T], b int, u unit[T]) (dense.Matrix[T], bool) {
	m := dense.Head(t, b, u.from)
	if n := u.to - u.from; n > 1 {
		if t.Rows == 0 || t.Cols == 0 || t.HeadStride != t.Rows*t.Stride {
			return m, false
		}
		start := b*t.BatchStride + u.from*t.HeadStride
		m.Rows *= n
		m.Data = t.Data[start : start+(m.Rows-1)*m.Stride+m.Cols]
	}
	return m, true
}

// arguments returns the arguments for one head of queries in sequence b, without the matrices to
// write.
func (a *tensorPass[T]) arguments(b, h int, attention Attention[T]) sequence.Forward[T] {
	keyHead := h / (a.Q.Heads / a.K.Heads)
	s := sequence.Forward[T]{
		Q: dense.Head(a.Q, b, h), K: dense.Head(a.K, b, keyHead), V: dense.Head(a.V, b, keyHead),
		Heads: 1, Processors: a.processors,
		Valid: a.validOf(b, h), Past: a.pastOf(b),
	}
	if _, ok := attention.(exact[T]); ok {
		s.Pairs = tiles.Pairs[T]{Bias: a.Bias, Sequence: b, Head: h}
		if !a.keyMask {
			s.Pairs.Mask = a.Mask
		}
	}
	return s
}

// scores writes the scores or weights of one head of queries that AttendArgs.Scores names.
func (a *tensorPass[T]) scores(b, h int, dst dense.Matrix[T]) {
	e := a.b.Head(h).(exact[T])
	s := a.arguments(b, h, e)
	mask, scores := e.maskOf(s), e.scores(s.Q.Cols)
	parallel.Rows(dst.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		tiles.Raw(scores, rows, s.Q.RowRange(lo, hi), s.K)
		if a.Scores >= ScoresAfterSoftcap {
			tiles.Cap(scores, rows)
		}
		if a.Scores < ScoresAfterBias {
			return
		}
		if a.Scores == ScoresAfterSoftmax {
			tiles.WeighSeen(scores, &mask, rows, lo)
		} else {
			mask.AddTo(rows, lo)
		}
	})
}

// like returns a tensor of zeros of the shape of t.
func like[T dense.Float](t dense.Tensor[T]) dense.Tensor[T] {
	return dense.NewTensor[T](t.Batch, t.Heads, t.Rows, t.Cols)
}

// summed returns the sums of t over the sides that are 1 in shape, in a fixed order.
func summed[T dense.Float](t dense.Tensor[T], shape [4]int) dense.Tensor[T] {
	if shape == t.Shape() {
		return t
	}
	sums := dense.NewTensor[T](shape[0], shape[1], shape[2], shape[3])
	for b := range t.Batch {
		for h := range t.Heads {
			for i := range t.Rows {
				row := sums.Row(min(b, shape[0]-1), min(h, shape[1]-1), min(i, shape[2]-1))
				vecmath.AddScaled(row, t.Row(b, h, i), 1)
			}
		}
	}
	return sums
}

// tensorGradients is a backward pass over tensors. A piece is a head of keys in a sequence, whose
// gradients are sums over the heads of queries that read it.
type tensorGradients[T dense.Float] struct {
	*tensorPass[T]
	Gradients[T]
	dout, pairs dense.Tensor[T] // pairs holds gradients of biases before sums over broadcast sides
	sinks       []float64       // gradients of log SinkWeight of each head of each sequence
}

func (g *tensorGradients[T]) Piece(i int) {
	b, keyHead := i/g.tensorPass.K.Heads, i%g.tensorPass.K.Heads
	group := g.tensorPass.Q.Heads / g.tensorPass.K.Heads
	dk, dv := dense.Head(g.Gradients.K, b, keyHead), dense.Head(g.Gradients.V, b, keyHead)
	for h := keyHead * group; h < (keyHead+1)*group; h++ {
		attention := g.b.Head(h)
		s := sequence.Backward[T]{
			Forward: g.arguments(b, h, attention), DQ: dense.Head(g.Gradients.Q, b, h), DOut: dense.Head(g.dout, b, h),
		}
		if e, ok := attention.(exact[T]); ok && e.SinkWeight != 0 {
			s.LogSink = &g.sinks[b*g.tensorPass.Q.Heads+h]
		}
		if g.LearnBias {
			s.Pairs.Gradient = dense.Head(g.pairs, b, h)
		}
		addBackward(attention, s, dk, dv, h == keyHead*group)
	}
}
