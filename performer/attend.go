package performer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// AttendArgs holds the arguments of [Attend]: scaled_dot_product_attention of PyTorch, or the
// operator Attention of ONNX, on tensors (B, H, L, d). Fields other than Q, K and V may be zero.
// The page docs/names.md of this module lists the names of PyTorch and ONNX.
type AttendArgs[T dense.Float] struct {
	// Q is (B, H, Lq, d), K is (B, Hk, L, d), V is (B, Hk, L, dv). H is a multiple of Hk: head h of
	// the queries reads head h/(H/Hk) of the keys. dense.TensorOf and dense.SplitHeads make tensors
	// of (B, H, L, d) and of (B, L, H·d) elements in memory.
	Q, K, V dense.Tensor[T]

	// PastK is (B, Hk, P, d), PastV is (B, Hk, P, dv): keys and values before those of K and V. The
	// number of all keys is Lk = P + L.
	PastK, PastV dense.Tensor[T]

	// Lengths says how many keys of each sequence count, from the first key on; nil means all.
	// Lengths is for K and V with room for later keys. There must be no PastK then.
	Lengths []int

	// Mask is true where a query may see a key, in each of (B, H, Lq, Lk), or with dimensions of 1,
	// which are broadcast over sequences, heads or queries. Keys beyond the columns of Mask are not
	// seen. All attention takes a Mask with one row, which is a mask of keys. Only [Exact] takes a
	// Mask with more rows. A masked key keeps its place: if it is one of the Sinks of an Exact, no
	// query sees that sink.
	Mask dense.Tensor[bool]

	// Bias is added to the scores Scale·q_iᵀk_j, after Softcap, with the dimensions of Mask. Keys
	// beyond the columns of Bias are not seen, nor is a key with a bias of −Inf. Only [Exact] takes
	// a Bias.
	Bias dense.Tensor[T]

	// Scores names the scores or weights of all pairs to return in the Result, for [Exact]. They
	// take B·H·Lq·Lk elements, and about as much time as the outputs.
	Scores Scores

	// LearnBias lets [AttendBackward] return the gradient with respect to Bias. Before sums over
	// broadcast dimensions, the gradient takes as much memory as Bias without broadcasting.
	LearnBias bool

	// Out is where outputs go, (B, H, Lq, dv). If it is zero, it is allocated, as (B, L, H·dv) in
	// memory if Q is (B, L, H·d), and as (B, H, Lq, dv) otherwise. It must not overlap other
	// tensors.
	Out dense.Tensor[T]
}

// Scores names one of four matrices with an element for each query and each key: the modes of
// qk_matmul_output of ONNX.
type Scores int

const (
	NoScores           Scores = iota
	ScoresAfterMatMul         // Scale·q_iᵀk_j
	ScoresAfterSoftcap        // ScoresAfterMatMul after Softcap
	ScoresAfterBias           // ScoresAfterSoftcap with Bias added, −Inf where a query does not see a key
	ScoresAfterSoftmax        // weights: exp of ScoresAfterBias, over its sum unless unnormalised; zero if no key is seen
)

// Result is what [Attend] returns.
type Result[T dense.Float] struct {
	Out    dense.Tensor[T] // (B, H, Lq, dv)
	K, V   dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv): past and present keys and values
	Scores dense.Tensor[T] // (B, H, Lq, Lk), zero unless AttendArgs.Scores is set
}

// Attend computes attention of each head of each sequence. attention is for all heads, or a [Batch]
// with the heads of Q and K. For an [Exact]
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Softcap·tanh(Scale·q_iᵀk_j/Softcap) + Bias_ij)
//
// over the keys j that query i sees. A query sees a key if the key is one of Lengths, Mask is true,
// and Bias is not −Inf. In causal attention a query also sees no later key: j ≤ i + P with PastK, j
// ≤ i + Lengths − Lq with Lengths, and j ≤ i otherwise. Lengths of Lk thus aligns the last query
// with the last key. The Window and the Slope of an Exact use i + P, i + Lengths − Lq and i as the
// place of query i, causal or not. Keys and values that a query does not see may be NaN. The output
// of a query that sees no key is zero, and so are its weights.
//
// Exact attention holds some tiles of scores and biases whatever the lengths are. A tile that no
// query sees costs no products. Attend with PastK copies all keys and values once; a [State] does
// not.
//
// Attend returns an error that names what does not fit: shapes; a Mask of several rows, a Bias or
// Scores for attention other than Exact; and keys to leave out for attention of another package
// that is not [PrefixAttention]. Attend panics if Check of a tensor does.
func Attend[T dense.Float](attention Attention[T], c AttendArgs[T]) (Result[T], error) {
	b, err := tensorsOf(attention)
	if err != nil {
		return Result[T]{}, err
	}
	return b.attend(c)
}

// tensorsOf returns a *batch whose first attention is the given one: a door to Attend and
// AttendBackward.
func tensorsOf[T dense.Float](attention Attention[T]) (tensors[T], error) {
	if isNil(attention) {
		return nil, errors.New("performer: attention is nil")
	}
	b, err := NewBatch(1, 1, attention)
	if err != nil {
		return nil, err
	}
	return b.(tensors[T]), nil
}

// tensors has the methods behind Attend and AttendBackward.
type tensors[T dense.Float] interface {
	attend(c AttendArgs[T]) (Result[T], error)
	attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error)
}

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
		if a.b, err = newBatch(c.Q.Heads, c.K.Heads, []Attention[T]{attention}); err != nil {
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

// fitsTensors returns an error unless the tensors fit together.
func fitsTensors[T dense.Float](c *AttendArgs[T]) error {
	q, k, v := c.Q, c.K, c.V
	for _, t := range []dense.Tensor[T]{q, k, v, c.PastK, c.PastV, c.Bias} {
		t.Check()
	}
	c.Mask.Check()
	if q.Batch != k.Batch || k.Batch != v.Batch || k.Heads != v.Heads || k.Rows != v.Rows || q.Cols != k.Cols ||
		q.Heads < 1 || k.Heads < 1 || q.Heads%k.Heads != 0 {
		return fmt.Errorf("performer: Q is %v, K is %v, V is %v, want (B, H, Lq, d), (B, Hk, L, d), (B, Hk, L, dv), H a multiple of Hk",
			q.Shape(), k.Shape(), v.Shape())
	}
	keys := k.Rows
	if !c.PastK.IsZero() || !c.PastV.IsZero() {
		pk, pv := c.PastK, c.PastV
		if want := [4]int{k.Batch, k.Heads, pk.Rows, k.Cols}; pk.Shape() != want || pv.Shape() != [4]int{v.Batch, v.Heads, pk.Rows, v.Cols} {
			return fmt.Errorf("performer: PastK is %v, PastV is %v, K is %v, V is %v, want one number of past keys and values, and else the sides of K and V",
				pk.Shape(), pv.Shape(), k.Shape(), v.Shape())
		}
		if c.Lengths != nil {
			return errors.New("performer: there are PastK and Lengths, want one of them")
		}
		keys += pk.Rows
	}
	if c.Lengths != nil && len(c.Lengths) != q.Batch {
		return fmt.Errorf("performer: Lengths has length %d, want one for each of %d sequences", len(c.Lengths), q.Batch)
	}
	for b, n := range c.Lengths {
		if n < 0 || n > keys {
			return fmt.Errorf("performer: Lengths has %d at %d, want 0 to %d keys", n, b, keys)
		}
	}
	whole := [4]int{q.Batch, q.Heads, q.Rows, keys}
	if err := fitsPairs("Mask", c.Mask.IsZero(), c.Mask.Shape(), whole); err != nil {
		return err
	}
	if err := fitsPairs("Bias", c.Bias.IsZero(), c.Bias.Shape(), whole); err != nil {
		return err
	}
	if c.Scores < NoScores || c.Scores > ScoresAfterSoftmax {
		return fmt.Errorf("performer: Scores = %d, want one of NoScores to ScoresAfterSoftmax", c.Scores)
	}
	return nil
}

// fitsPairs returns an error if a tensor that is given has a shape that cannot be broadcast to
// whole.
func fitsPairs(name string, none bool, shape, whole [4]int) error {
	if none {
		return nil
	}
	for i, n := range shape[:3] {
		if n != 1 && n != whole[i] {
			return fmt.Errorf("performer: %s is %v, want sides of 1 or of %v", name, shape, whole)
		}
	}
	if shape[3] > whole[3] {
		return fmt.Errorf("performer: %s is %v, want at most %d columns, one for each key", name, shape, whole[3])
	}
	return nil
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
	s := a.arguments(b, u.from, u.attention)
	var isView, also bool
	s.Q, isView = stacked(a.Q, b, u)
	if s.Dst, also = stacked(a.Out, b, u); isView && also && !a.perHead {
		forwardSequence(u.attention, s)
		return
	}
	for h := u.from; h < u.to; h++ {
		s := a.arguments(b, h, u.attention)
		s.Dst = dense.Head(a.Out, b, h)
		forwardSequence(u.attention, s)
	}
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
	if e, ok := attention.(exact[T]); ok {
		s.Pairs, s.FromKey0 = tiles.Pairs[T]{Bias: a.Bias, Sequence: b, Head: h}, e.placed()
		if !a.keyMask {
			s.Pairs.Mask = a.Mask
		}
	}
	return s
}
