package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// AttendArgs holds the arguments of [Attend], those of scaled_dot_product_attention of PyTorch and
// of the operator Attention of ONNX, on tensors (B, H, L, d) of sequences, heads, tokens and
// dimension. Fields other than Q, K and V may be zero. docs/names.md lists the names in PyTorch and
// ONNX.
type AttendArgs[T dense.Float] struct {
	// Q has the shape (B, H, Lq, d), K (B, Hk, L, d), V (B, Hk, L, dv): sequences, heads, tokens,
	// dimension. The number H of heads of queries is a multiple of the number Hk of heads of keys:
	// head h of the queries reads head h/(H/Hk) of the keys. dense.TensorOf makes tensors from
	// elements in the order (B, H, L, d), dense.SplitHeads from elements in the order (B, L, H·d).
	Q, K, V dense.Tensor[T]

	// PastK has the shape (B, Hk, P, d) and PastV (B, Hk, P, dv): P keys and values before those of
	// K and V. With P keys in PastK and L keys in K, the number of all keys is Lk = P + L.
	PastK, PastV dense.Tensor[T]

	// Lengths has a number n for each sequence, and queries may see the first n keys only; nil
	// means all keys. Lengths is for K and V that have room for later keys, and excludes PastK.
	Lengths []int

	// Mask is true where a query may see a key. Mask has the shape (B, H, Lq, Lk) of sequences,
	// heads, queries and keys, or 1 in place of B, H or Lq, which is broadcast. Queries do not see
	// keys beyond the columns of Mask. A Mask with one row, for all queries, is a mask of keys,
	// which attention other than [Exact] takes too. Only [Exact] takes a Mask with several rows.
	//
	// The first keys of a sequence are padding if Mask or Bias hides these keys from every query of
	// a head. The Chunk and the Sinks of an [Exact] are counted from the first key after the
	// padding. A hidden key after the padding counts in the places of the keys after it.
	Mask dense.Tensor[bool]

	// Bias is added to the scores Scale·q_iᵀk_j, after ExactOptions.Softcap, and has a shape like
	// Mask: (B, H, Lq, Lk), or 1 in place of B, H or Lq. Queries do not see keys beyond the columns
	// of Bias, nor keys with a bias of −Inf. A finite bias hides no key. Only [Exact] takes a Bias.
	Bias dense.Tensor[T]

	// Scores selects the scores or weights that [Attend] returns in Result.Scores, for [Exact].
	// Result.Scores has B·H·Lq·Lk elements, and takes about as much time as the outputs.
	Scores Scores

	// LogSums lets [Attend] return Result.LogSums, for [Exact].
	LogSums bool

	// LearnBias lets [AttendBackward] return the gradient with respect to Bias, which takes the
	// memory of a Bias that is not broadcast until the sums over broadcast dimensions.
	LearnBias bool

	// Out receives the outputs, of shape (B, H, Lq, dv). If Out is zero, [Attend] allocates it, in
	// the order (B, Lq, H·dv) in memory if Q has the order (B, Lq, H·d), and in the order (B, H,
	// Lq, dv) otherwise. Out must not share memory with other tensors of AttendArgs.
	Out dense.Tensor[T]
}

// Scores names one of four matrices with an element for each query and each key, which are the
// modes of the output qk_matmul_output of the operator Attention of ONNX.
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

	// LogSums (B, H, Lq, 1) has the logarithm of the denominator of each output, Σ_j A_ij +
	// SinkWeight, which is −Inf for a query that sees neither a key nor a sink. LogSums is zero unless
	// AttendArgs.LogSums is set. [Join] joins outputs over parts of the keys by LogSums.
	LogSums dense.Tensor[T]
}

// Attend computes attention of each head of each sequence in c. The argument attention serves all
// heads, or is a [Batch] with the heads of Q and K. With an [Exact], the output of query i sums
// over the keys j that query i sees:
//
//	out_i = Σ_j A_ij v_j / (Σ_j A_ij + SinkWeight),
//	A_ij = exp(Softcap·tanh(Scale·q_iᵀk_j/Softcap) + Bias_ij)
//
// A query does not see a key beyond the Lengths of the sequence, a key whose Mask is false, or a
// key whose Bias is −Inf. Query i has the place i + P with P keys in PastK, i + n − Lq if Lengths
// has n for the sequence, and i without PastK and Lengths. With Lengths, the last query of a
// sequence has the place of the last key that queries may see. In causal attention a query does not
// see keys after the place of the query. The Window, the Chunk and the Slope of an [Exact] compare
// places of queries and keys, in causal and in bidirectional attention. Keys and values that a
// query does not see may be NaN without effect on the output of the query. The output of a query
// that sees no key is zero, and so are the weights of the query.
//
// Exact attention holds a few tiles of scores and biases at a time, in memory that does not depend
// on the numbers of queries and keys. A tile of queries and keys in which no query sees a key takes
// no products q_iᵀk_j. Attend with PastK copies all keys and values once, unlike a [State].
//
// Attend returns an error that names what does not fit: shapes; a Mask of several rows, a Bias or
// Scores for attention other than Exact; and hidden keys or past keys for attention that another
// package implements. Attend panics if dense.Tensor.Check panics for one of the tensors.
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

	// LogSink has the gradient with respect to the logarithm of the SinkWeight of each head of
	// queries, or is nil if no head has a SinkWeight.
	LogSink []T
}

// AttendBackward returns the gradients of L = Σ dout·out, a sum over all elements, with respect to
// queries, keys, values, biases and log SinkWeight. In L = Σ dout·out, out is the output of
// [Attend] for attention and c, and dout (B, H, Lq, dv) is the gradient of L with respect to out.
// With the gradient dS of L with respect to the scores, the gradient of a bias is Σ dS over the
// pairs of query and key to which the bias is broadcast. The gradient of log SinkWeight is −Σ_i
// P_i·dout_iᵀout_i over the queries i, where P_i is SinkWeight divided by the sum of SinkWeight and
// the weights of query i. Gradients of keys that no query sees are zero, and so are gradients of
// queries that see no key. A query whose row of dout is zero has the gradient zero, and adds
// nothing to other gradients, even if the query is NaN.
//
// AttendBackward takes three to four times as long as Attend. AttendBackward returns an error where
// Attend does, if dout does not have the shape of the outputs, if the attention has no gradients,
// and for LearnBias without Bias.
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
