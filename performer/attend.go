package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// AttendArgs holds the arguments of [Attend]: scaled_dot_product_attention of PyTorch, or the
// operator Attention of ONNX, on tensors (B, H, L, d). Fields other than Q, K and V may be zero.
// The page docs/names.md of this module lists the names of PyTorch and ONNX.
type AttendArgs[T dense.Float] struct {
	// Q is (B, H, Lq, d), K is (B, Hk, L, d), V is (B, Hk, L, dv). H is a multiple of Hk: head h of
	// the queries reads head h/(H/Hk) of the keys. dense.TensorOf and dense.SplitHeads make tensors
	// of (B, H, L, d) and of (B, L, H·d) elements in memory.
	Q, K, V dense.Tensor[T]

	// PastK is (B, Hk, P, d), PastV is (B, Hk, P, dv): P keys and values before those of K and V.
	// The number of all keys is Lk = P + L.
	PastK, PastV dense.Tensor[T]

	// Lengths has the number of keys of each sequence that queries may see, from the first key on;
	// nil means all keys. Lengths serves K and V with room for later keys, without PastK.
	Lengths []int

	// Mask is true where a query may see a key. Mask is (B, H, Lq, Lk), or has dimensions of 1,
	// which are broadcast over sequences, heads or queries. Keys beyond the columns of Mask are not
	// seen. A Mask with one row is a mask of keys, which all attention takes. Only [Exact] takes a
	// Mask with more rows.
	//
	// The first keys are padding if Mask or Bias hides them from every query of a head. The Chunk
	// and the Sinks of an Exact begin after the padding. A later key that is hidden keeps its
	// place.
	Mask dense.Tensor[bool]

	// Bias is added to the scores Scale·q_iᵀk_j, after Softcap, with the dimensions of Mask. Keys
	// beyond the columns of Bias are not seen, nor is a key with a bias of −Inf. A finite bias
	// hides no key. Only [Exact] takes a Bias.
	Bias dense.Tensor[T]

	// Scores names the scores or weights that Result.Scores returns, for [Exact]. These scores take
	// B·H·Lq·Lk elements, and about as much time as the outputs.
	Scores Scores

	// LearnBias lets [AttendBackward] return the gradient with respect to Bias. Before sums over
	// broadcast dimensions, the gradient takes as much memory as Bias without broadcasting.
	LearnBias bool

	// Out receives the outputs, (B, H, Lq, dv). A zero Out is allocated, as (B, L, H·dv) in memory
	// if Q is (B, L, H·d) in memory, and as (B, H, Lq, dv) otherwise. Out must not overlap other
	// tensors.
	Out dense.Tensor[T]
}

// Scores names one of four matrices with an element for each query and each key. The names are
// modes of qk_matmul_output of ONNX.
type Scores int

const (
	NoScores           Scores = iota
	ScoresAfterMatMul         // Scale·q_iᵀk_j
	ScoresAfterSoftcap        // ScoresAfterMatMul after Softcap
	ScoresAfterBias           // ScoresAfterSoftcap plus Bias, −Inf where a query does not see a key
	ScoresAfterSoftmax        // exp of ScoresAfterBias, over the sum unless unnormalised
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
//	out_i = Σ_j A_ij v_j / (Σ_j A_ij + SinkWeight),
//	A_ij = exp(Softcap·tanh(Scale·q_iᵀk_j/Softcap) + Bias_ij)
//
// over the keys j that query i sees. A query sees a key if the key is one of Lengths, Mask is true,
// and Bias is not −Inf. Query i has the place i + P with PastK, i + Lengths − Lq with Lengths, and
// i otherwise. So if Lengths is Lk, the last query has the place of the last key. In causal
// attention a query does not see keys after its place. The Window, the Chunk and the Slope of an
// Exact use places, causal or not. Keys and values that a query does not see may be NaN. The output
// of a query that sees no key is zero, and so are the weights of the query.
//
// Exact attention holds some tiles of scores and biases whatever the lengths are. A tile that no
// query sees costs no products. Attend with PastK copies all keys and values once; a [State] does
// not.
//
// Attend returns an error that names what does not fit: shapes; a Mask of several rows, a Bias or
// Scores for attention other than Exact; and keys to leave out or a past for attention of another
// package. Attend panics if Check of a tensor does.
func Attend[T dense.Float](attention Attention[T], c AttendArgs[T]) (Result[T], error) {
	b, err := NewBatch(BatchOptions{Heads: 1}, attention)
	if err != nil {
		return Result[T]{}, err
	}
	return b.of.attend(c)
}

// Gradients holds the results of [AttendBackward].
type Gradients[T dense.Float] struct {
	Q    dense.Tensor[T] // (B, H, Lq, d)
	K, V dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv), for past keys and values first
	Bias dense.Tensor[T] // with the shape of AttendArgs.Bias, zero without LearnBias

	// LogSink has the gradient with respect to log SinkWeight of each head of queries, or is nil if
	// no head has a SinkWeight.
	LogSink []T
}

// AttendBackward returns the gradients of L = Σ dout·out with respect to queries, keys, values,
// biases and sinks. out is the result of [Attend] with the same arguments, and dout (B, H, Lq, dv)
// is the gradient of L with respect to out. With P, dS and δ of the documentation of [Exact], the
// gradient of a bias is Σ dS over the pairs to which the bias is broadcast. The gradient of log
// SinkWeight is −Σ_i P_i·δ_i, where P_i is SinkWeight over the sum of the weights of query i and
// SinkWeight. Gradients of keys that no query sees are zero, and so are gradients of queries that
// see no key. A query with a dout of zero has the gradient zero, and adds nothing to other
// gradients, even if the query is NaN.
//
// The time is three to four times the time of Attend. AttendBackward returns an error in the cases
// of Attend, if dout does not fit, if the attention has no gradients, and for LearnBias without
// Bias.
func AttendBackward[T dense.Float](attention Attention[T], c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	b, err := NewBatch(BatchOptions{Heads: 1}, attention)
	if err != nil {
		return Gradients[T]{}, err
	}
	return b.of.attendBackward(c, dout)
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
