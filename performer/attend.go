package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// AttendArgs holds the arguments of [Attend]: tensors of B sequences, H heads, L tokens and
// dimension d. Fields of AttendArgs other than Q, K and V may be zero.
type AttendArgs[T dense.Float] struct {
	// Q (B, H, Lq, d) holds Lq queries of dimension d in each of H heads of B sequences. K (B, Hk,
	// L, d) and V (B, Hk, L, dv) hold L keys of dimension d and L values of dimension dv in each of
	// Hk heads. Head h of H heads of queries reads head ⌊h·Hk/H⌋ of Hk heads of keys; H is a
	// multiple of Hk. dense.TensorOf makes tensors from elements ordered by sequence, head, token
	// and dimension, dense.SplitHeads from elements ordered by sequence, token, head and dimension.
	Q, K, V dense.Tensor[T]

	// PastK (B, Hk, P, d) and PastV (B, Hk, P, dv) hold P keys and values that precede K and V.
	// With P keys in PastK and L keys in K, the number of all keys is Lk = P + L.
	PastK, PastV dense.Tensor[T]

	// Lengths[b] = n lets the queries of sequence b see only the first n keys; a nil Lengths hides
	// no key. Lengths is for K and V with unused rows at the end, not for calls with PastK.
	Lengths []int

	// Mask is true where a query may see a key. Mask has the shape (B, H, Lq, Lk) of B sequences, H
	// heads, Lq queries and the Lk keys of PastK and K, or 1 in place of B, H or Lq, which is
	// broadcast. Queries see no key beyond the columns of Mask. Only [Exact] accepts a Mask with a
	// row for each query; [Linear] and package blocks also accept a Mask with one row, for all
	// queries.
	//
	// The first keys of a sequence are padding if Mask or Bias hides these keys from every query.
	// The place of a key is the number of earlier keys, hidden or not, that are not padding. The
	// Chunk and the Sinks of an [Exact] are counted from the first key of a sequence that is not
	// hidden as padding.
	Mask dense.Tensor[bool]

	// Bias, of a shape that AttendArgs.Mask may have, is added to the scores of an [Exact] after
	// ExactOptions.Softcap. A query sees no key whose Bias is −Inf, or beyond the columns of Bias.
	// Only [Exact] accepts a Bias.
	Bias dense.Tensor[T]

	// Scores selects the scores or weights of an [Exact] that [Attend] returns in Result.Scores.
	// Computing Result.Scores takes about as much time as computing the outputs.
	Scores Scores

	// LogSums makes [Attend] of an [Exact] return logarithms of sums of weights in Result.LogSums.
	LogSums bool

	// LearnBias makes [AttendBackward] return the gradient with respect to Bias, for which
	// AttendBackward needs memory for one number per pair of query and key in each head.
	LearnBias bool

	// Out (B, H, Lq, dv) receives the outputs of dimension dv for Lq queries of H heads in B
	// sequences. [Attend] allocates an Out that is zero, ordered in memory like Q: all heads of a
	// token are adjacent, or all tokens of a head. Out must not share memory with other tensors of
	// AttendArgs.
	Out dense.Tensor[T]
}

// Scores names one of four matrices of scores or weights of pairs of a query and a key, or none.
// The four matrices are the modes of the output qk_matmul_output of the operator Attention of ONNX.
type Scores int

const (
	NoScores           Scores = iota
	ScoresAfterMatMul         // Scale·q_iᵀk_j
	ScoresAfterSoftcap        // ScoresAfterMatMul after Softcap
	ScoresAfterBias           // ScoresAfterSoftcap plus Bias, −Inf where a query does not see a key
	ScoresAfterSoftmax        // exp of ScoresAfterBias, over the sum
)

// Result has the outputs of [Attend], and on request scores and log sums of weights.
type Result[T dense.Float] struct {
	Out    dense.Tensor[T] // (B, H, Lq, dv)
	K, V   dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv): past and present keys and values
	Scores dense.Tensor[T] // (B, H, Lq, Lk), zero unless AttendArgs.Scores is set

	// LogSums (B, H, Lq, 1) has, for each query, the logarithm of the sum of SinkWeight and of the
	// weights of all keys. The logarithm is −Inf if the sum is zero. LogSums is the zero Tensor
	// unless AttendArgs.LogSums is true. [Join] uses LogSums to combine outputs over separate parts
	// of the keys.
	LogSums dense.Tensor[T]
}

// Attend computes attention of each head of each sequence in the arguments c. The argument
// attention serves all heads, or is a [Batch] with as many heads as the tensors Q and K. With an
// [Exact], the output out_i is a weighted sum of the values v_j of the keys j that query i sees:
//
//	out_i = Σ_j A_ij v_j / (Σ_j A_ij + SinkWeight),
//	A_ij = exp(Softcap·tanh(Scale·q_iᵀk_j/Softcap) + Bias_ij)
//
// A query sees no key after the first n if Lengths has n for the sequence, no key whose Mask is
// false, and no key whose Bias is −Inf. Query i of Lq has the place i + P with P keys in PastK, i +
// n − Lq if Lengths has n for the sequence, and i without PastK and Lengths, in each case less the
// number of first keys that are padding. In causal attention a query does not see keys after the
// place of the query. Whether the Window or the Chunk of an [Exact] hides a key from a query, and
// how much the Slope lowers the score, depends on the places of the query and the key.
//
// A key or a value that is NaN does not change the outputs of queries that do not see the key. The
// output of a query that sees no key is zero, and so are the weights of the query.
//
// Exact attention computes scores in small blocks, in memory that does not grow with the numbers of
// queries and keys. With PastK, Attend copies all keys and values; a [State] copies only new
// tokens.
//
// Attend returns an error for shapes that do not fit; for a Mask of several rows, a Bias, Scores or
// LogSums with attention other than Exact; and for hidden or past keys with attention of a type
// outside packages performer and blocks. Attend panics if dense.Tensor.Check panics for a given
// tensor.
func Attend[T dense.Float](attention Attention[T], c AttendArgs[T]) (Result[T], error) {
	b, err := NewBatch(BatchOptions{Heads: 1}, attention)
	if err != nil {
		return Result[T]{}, err
	}
	return b.of.attend(c)
}

// Gradients holds gradients of queries, keys, values, biases and sinks by [AttendBackward].
type Gradients[T dense.Float] struct {
	Q    dense.Tensor[T] // (B, H, Lq, d)
	K, V dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv), for past keys and values first
	Bias dense.Tensor[T] // with the shape of AttendArgs.Bias, zero without LearnBias

	// LogSink has the gradient with respect to the logarithm of the SinkWeight of each head of
	// queries, or is nil if no head has a SinkWeight.
	LogSink []T
}

// AttendBackward returns the gradients of L = Σ dout·out, a sum over all elements of the output out
// of [Attend], with respect to queries, keys, values, biases and log SinkWeight. The argument dout
// (B, H, Lq, dv) is the gradient of L with respect to out. The gradient of log SinkWeight is −Σ_i
// P_i·dout_iᵀout_i over the queries i with the outputs out_i, where P_i is SinkWeight divided by
// the sum of SinkWeight and the weights of query i. The gradient of an element of Bias is the sum
// of the gradients of the scores of all pairs of query and key to which the element is broadcast.
//
// Gradients of keys that no query sees are zero, and so are gradients of queries that see no key. A
// query whose row of dout is zero has the gradient zero, and adds nothing to gradients of keys and
// values, even if the query is NaN.
//
// AttendBackward takes three to four times as long as Attend. AttendBackward returns an error for
// attention and tensors that Attend refuses, for a dout without the shape of the outputs, for
// attention without gradients, and for LearnBias without Bias.
func AttendBackward[T dense.Float](attention Attention[T], c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	b, err := NewBatch(BatchOptions{Heads: 1}, attention)
	if err != nil {
		return Gradients[T]{}, err
	}
	return b.of.attendBackward(c, dout)
}

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
