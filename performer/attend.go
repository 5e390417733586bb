package performer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// AttendArgs is attention over tensors (B, H, L, d) in one call of [Attend], with what may be added to
// scores: scaled_dot_product_attention of PyTorch, or the operator Attention of ONNX. Fields other
// than Q, K and V may be zero. A page of the documentation, docs/names.md, has the names of both.
type AttendArgs[T dense.Float] struct {
	// Q is (B, H, Lq, d), K is (B, Hk, L, d), V is (B, Hk, L, dv). H is a multiple of Hk: head h of
	// the queries reads head h/(H/Hk) of the keys. dense.TensorOf and dense.SplitHeads make tensors
	// of (B, H, L, d) and of (B, L, H·d) elements in memory.
	Q, K, V dense.Tensor[T]

	// PastK is (B, Hk, P, d), PastV is (B, Hk, P, dv): keys and values before those of K and V. In
	// all there are Lk = P + L keys.
	PastK, PastV dense.Tensor[T]

	// Lengths says how many keys of each sequence count, from the first on, of a cache with room
	// for more; nil means all. There must be no PastK then.
	Lengths []int

	// Mask is true where a query may see a key, in each of (B, H, Lq, Lk), or with dimensions of 1,
	// which are broadcast over sequences, heads or queries. Keys beyond its columns are not seen. A
	// Mask with one row is one on keys, which all forms take. A Mask with more is for [Exact]. A key
	// that is masked keeps its place: it may be one of the Sinks of an Exact, which nobody sees then.
	Mask dense.Tensor[bool]

	// Bias is added to the scores Scale·q_iᵀk_j, after Softcap, with the dimensions of Mask. Keys
	// beyond its columns are not seen, nor is a key with a bias of −Inf. Bias is for [Exact].
	Bias dense.Tensor[T]

	// Scores asks for scores or weights of all pairs in the Result, for [Exact]. They take
	// B·H·Lq·Lk elements, and about as much time again as the outputs.
	Scores Scores

	// LearnBias asks [AttendBackward] for the gradient with respect to Bias. Until broadcast
	// dimensions are summed over, it takes as many elements as Bias would have without
	// broadcasting.
	LearnBias bool

	// Out is where outputs go, (B, H, Lq, dv). If it is zero, it is allocated, as (B, L, H·dv) in
	// memory if Q is (B, L, H·d), and as (B, H, Lq, dv) otherwise. It must not overlap other
	// tensors.
	Out dense.Tensor[T]
}

// Scores names one of the four matrices between a query and a key.
type Scores int

const (
	NoScores           Scores = iota
	ScoresAfterMatMul         // Scale·q_iᵀk_j
	ScoresAfterSoftcap        // ScoresAfterMatMul after Softcap
	ScoresAfterBias           // ScoresAfterSoftcap with Bias added, −Inf where a query does not see a key
	ScoresAfterSoftmax        // exp of ScoresAfterBias, over its sum unless unnormalised; zero if no key is seen
)

// Result is what [Attend] returns.
type Result[T dense.Float] struct {
	Out    dense.Tensor[T] // (B, H, Lq, dv)
	K, V   dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv): all keys and values, present ones too
	Scores dense.Tensor[T] // (B, H, Lq, Lk), zero unless asked for
}

// Attend computes attention of each head of each sequence, by the form, or by a [Batch] with as
// many heads:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Softcap·tanh(Scale·q_iᵀk_j/Softcap) + Bias_ij)
//
// for an [Exact], over the keys j that query i sees. A key is seen if it is one of Lengths, Mask is
// true, Bias is not −Inf and, in causal forms, if j ≤ i + P with PastK, j ≤ i + Lengths − Lq with
// Lengths, and j ≤ i otherwise. So Lengths of Lk aligns the last query with the last key. The Window
// and the Slope of an Exact take i + P, i + Lengths − Lq and i for the place of query i too, causal or
// not. Keys and values that a query does not see may hold NaN. The output of a query that sees no key
// is zero, and so are its weights.
//
// Exact attention holds some tiles of scores and biases whatever the lengths are, and tiles that no
// query sees cost no products. Attend with PastK copies all keys and values once; a [State] does
// not. Attend with Lengths and without PastK copies nothing, if the form does not.
//
// Attend returns an error that names what does not fit: shapes, a form other than Exact with a Mask
// of several rows, a Bias or Scores, and a form of another package that is not [PrefixAttention] and would
// have to leave out keys. It panics if Check of a tensor does.
func Attend[T dense.Float](attention Attention[T], c AttendArgs[T]) (Result[T], error) {
	b, err := tensorsOf(attention)
	if err != nil {
		return Result[T]{}, err
	}
	return b.attend(c)
}

// tensorsOf returns what is behind Attend and AttendBackward, a *batch whose first form is the given one.
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

// tensors is Attend and AttendBackward.
type tensors[T dense.Float] interface {
	attend(c AttendArgs[T]) (Result[T], error)
	attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error)
}

func (b *batch[T]) attend(c AttendArgs[T]) (Result[T], error) {
	a, err := newTensorCall(b.units[0].attention, c)
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

// tensorCall is one call of Attend, and the task of its outputs. Its K and V are all keys and values.
type tensorCall[T dense.Float] struct {
	AttendArgs[T]
	b          *batch[T]
	keyMask    bool     // Mask has one row, and is in valid
	valid      [][]bool // of each sequence, or of each head of each sequence; nil means all keys
	perHead    bool     // valid is for each head
	processors int
}

// newTensorCall checks a call and prepares its keys.
func newTensorCall[T dense.Float](attention Attention[T], c AttendArgs[T]) (*tensorCall[T], error) {
	if err := fitsTensors(&c); err != nil {
		return nil, err
	}
	a := &tensorCall[T]{AttendArgs: c, processors: 1}
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
		if err := a.takes(u.attention); err != nil {
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

// fitsPairs returns an error unless a tensor of pairs that is given has a shape that serves whole.
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

// joined returns the rows of past with those of t below, in new memory.
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

// setValid makes flags of keys of Lengths and of a Mask with one row.
func (a *tensorCall[T]) setValid() {
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

// validOf returns which keys of a head of queries count, or nil if all do.
func (a *tensorCall[T]) validOf(b, h int) []bool {
	switch {
	case a.valid == nil:
		return nil
	case a.perHead:
		return a.valid[b*a.Q.Heads+h]
	}
	return a.valid[b]
}

// pastOf returns how many keys of a sequence come before its first query.
func (a *tensorCall[T]) pastOf(b int) int {
	if a.Lengths != nil {
		return a.Lengths[b] - a.Q.Rows
	}
	return a.PastK.Rows
}

// takes returns an error unless the form can do what the call asks for.
func (a *tensorCall[T]) takes(attention Attention[T]) error {
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
	}
	if takesMasks(attention) {
		return nil
	}
	return a.takesAll(attention)
}

// takesAll returns an error, which names the form, if there is a past or a key that does not count.
func (a *tensorCall[T]) takesAll(attention Attention[T]) error {
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

// run does n pieces as a Batch does: in parallel while there are enough, the last ones one after
// another with the parallelism of the form.
func (a *tensorCall[T]) run(t parallel.Task, n int) {
	processors := runtime.GOMAXPROCS(0)
	together := n / processors * processors
	parallel.Do(together, t)
	a.processors = processors
	for i := together; i < n; i++ {
		t.Piece(i)
	}
}

// Piece computes the outputs of a unit of the Batch in a sequence.
func (a *tensorCall[T]) Piece(i int) {
	b, u := i/a.b.count, a.b.unit(i%a.b.count)
	q, ok := stacked(a.Q, b, u)
	dst, also := stacked(a.Out, b, u)
	if ok && also && !a.perHead {
		p := a.request(b, u.from, u.attention)
		p.q, p.dst = q, dst
		answer(u.attention, p)
		return
	}
	for h := u.from; h < u.to; h++ {
		p := a.request(b, h, u.attention)
		p.dst = dense.Head(a.Out, b, h)
		answer(u.attention, p)
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

// request returns the request of one head of queries, without the matrices to write.
func (a *tensorCall[T]) request(b, h int, attention Attention[T]) request[T] {
	keyHead := h / (a.Q.Heads / a.K.Heads)
	p := request[T]{
		q: dense.Head(a.Q, b, h), k: dense.Head(a.K, b, keyHead), v: dense.Head(a.V, b, keyHead),
		heads: 1, processors: a.processors,
		valid: a.validOf(b, h), past: a.pastOf(b),
	}
	if e, ok := attention.(exact[T]); ok {
		p.pairs, p.masked = a.pairs(b, h), e.placed()
	}
	return p
}

// pairs returns the biases and the mask of one head of queries.
func (a *tensorCall[T]) pairs(b, h int) tiles.Pairs[T] {
	p := tiles.Pairs[T]{Bias: a.Bias, Sequence: b, Head: h}
	if !a.keyMask {
		p.Mask = a.Mask
	}
	return p
}
