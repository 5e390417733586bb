package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// onnxInputs are the inputs of a node. Tensors have the order in memory of the operator.
type onnxInputs struct {
	q, k, v, pastK, pastV, bias []float64
	mask                        []bool
}

// inputs returns random inputs of the shapes of the node, which are numbers of float16 if its are.
func (n onnxNode) inputs(rng *rand.Rand) onnxInputs {
	uniform := func(sides [4]int) []float64 {
		x := make([]float64, sides[0]*sides[1]*sides[2]*sides[3])
		for i := range x {
			x[i] = float64(rng.Float32())
		}
		if n.float16 {
			half.Decode(x, half.Encode[half.Float16](nil, x))
		}
		return x
	}
	in := onnxInputs{q: uniform(n.q), k: uniform(n.k), v: uniform(n.v)}
	if n.past > 0 {
		sides := n.k
		sides[2] = n.past
		in.pastK = uniform(sides)
		sides[3] = n.v[3]
		in.pastV = uniform(sides)
	}
	if n.mask == [4]int{} {
		return in
	}
	in.bias = uniform(n.mask)
	text := strings.ReplaceAll(n.rows, " ", "")
	in.mask = make([]bool, len(in.bias))
	for i := range in.mask {
		in.mask[i] = text == "" && in.bias[i] < 0.7 || text != "" && text[i] == '1'
		if text != "" && !in.mask[i] {
			in.bias[i] = math.Inf(-1)
		}
	}
	if n.boolean {
		in.bias = nil
	} else {
		in.mask = nil
	}
	return in
}

// tensor returns the numbers as a tensor of T.
func tensor[T dense.Float](sides [4]int, rank3 bool, x []float64) dense.Tensor[T] {
	data := make([]T, len(x))
	for i, v := range x {
		data[i] = T(v)
	}
	if rank3 {
		return dense.SplitHeads(dense.Of(sides[0]*sides[2], sides[1]*sides[3], data), sides[0], sides[1])
	}
	return dense.TensorOf(sides[0], sides[1], sides[2], sides[3], data)
}

// attendONNX is the node by one call of Attend.
func attendONNX[T dense.Float](n onnxNode, in onnxInputs) (performer.Result[T], error) {
	call := performer.AttendArgs[T]{
		Q: tensor[T](n.q, n.rank3, in.q), K: tensor[T](n.k, n.rank3, in.k), V: tensor[T](n.v, n.rank3, in.v),
		Lengths: n.nonpad, Scores: n.scores,
	}
	if n.past > 0 {
		call.PastK = tensor[T]([4]int{n.k[0], n.k[1], n.past, n.k[3]}, false, in.pastK)
		call.PastV = tensor[T]([4]int{n.k[0], n.k[1], n.past, n.v[3]}, false, in.pastV)
	}
	if in.bias != nil {
		call.Bias = tensor[T](n.mask, false, in.bias)
	}
	if in.mask != nil {
		call.Mask = dense.TensorOf(n.mask[0], n.mask[1], n.mask[2], n.mask[3], in.mask)
	}
	if n.left > 0 || n.right > 0 {
		call.Mask = n.window(call.Mask)
	}
	return performer.Attend(must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: n.causal, Scale: n.scale}, Softcap: n.softcap})), call)
}

// window returns a mask of the windows of the node, and of a mask that may be zero.
func (n onnxNode) window(mask dense.Tensor[bool]) dense.Tensor[bool] {
	all := dense.NewTensor[bool](n.q[0], n.q[1], n.q[2], n.past+n.k[2])
	for b := range all.Batch {
		for h := range all.Heads {
			for i := range all.Rows {
				at := i + n.offset(b)
				for j := range all.Row(b, h, i) {
					open := (n.left == 0 || j > at-n.left) && (n.right == 0 || j < at+n.right)
					if open && !mask.IsZero() {
						row := mask.Row(min(b, mask.Batch-1), min(h, mask.Heads-1), min(i, mask.Rows-1))
						open = j < len(row) && row[j]
					}
					all.Row(b, h, i)[j] = open
				}
			}
		}
	}
	return all
}

// offset returns how many keys precede the first query of a sequence.
func (n onnxNode) offset(b int) int {
	if n.nonpad != nil {
		return n.nonpad[b] - n.q[2]
	}
	return n.past
}

// truth returns what the operator returns, by its definition, with present keys and values, and the
// number of queries that see no key.
func (n onnxNode) truth(in onnxInputs) (call performer.AttendArgs[float64], want naiveCall, masked int) {
	present := func(past, x []float64, sides [4]int) dense.Tensor[float64] {
		all := dense.NewTensor[float64](sides[0], sides[1], n.past+sides[2], sides[3])
		for b := range all.Batch {
			for h := range all.Heads {
				dense.Copy(dense.Head(all, b, h).RowRange(n.past, all.Rows), dense.Head(tensor[float64](sides, n.rank3, x), b, h))
				if n.past > 0 {
					dense.Copy(dense.Head(all, b, h).RowRange(0, n.past), dense.Head(dense.TensorOf(sides[0], sides[1], n.past, sides[3], past), b, h))
				}
			}
		}
		return all
	}
	call = performer.AttendArgs[float64]{Q: tensor[float64](n.q, n.rank3, in.q), K: present(in.pastK, in.k, n.k), V: present(in.pastV, in.v, n.v)}
	call.Bias = dense.NewTensor[float64](n.q[0], n.q[1], n.q[2], call.K.Rows)
	for b := range call.Bias.Batch {
		for h := range call.Bias.Heads {
			for i := range call.Bias.Rows {
				row := call.Bias.Row(b, h, i)
				for j := range row {
					row[j] = n.addend(in, b, h, i, j)
				}
				if math.IsInf(slices.Max(row), -1) {
					masked++
				}
			}
		}
	}
	o := performer.ExactOptions{Softmax: performer.Softmax{Scale: n.scale}, Softcap: n.softcap}
	return call, naive(o, call, dense.Tensor[float64]{}, 0), masked
}

// addend returns what the operator adds to a score: attn_mask, padded with what is not seen, and
// −Inf for what is not causal, outside the windows, or padding.
func (n onnxNode) addend(in onnxInputs, b, h, i, j int) float64 {
	p := i + n.offset(b)
	switch {
	case n.causal && j > p, n.left > 0 && j <= p-n.left, n.right > 0 && j >= p+n.right, n.nonpad != nil && j >= n.nonpad[b]:
		return math.Inf(-1)
	case in.bias == nil && in.mask == nil:
		return 0
	case j >= n.mask[3]:
		return math.Inf(-1)
	}
	element := 0
	for side, at := range []int{b, h, i, j} {
		element = element*n.mask[side] + min(at, n.mask[side]-1)
	}
	if in.mask == nil {
		return in.bias[element]
	}
	if in.mask[element] {
		return 0
	}
	return math.Inf(-1)
}

// The published cases of ONNX are calls of Attend: outputs, present keys and values, and scores are
// those of the operator, by its definition, and outputs of queries that see no key are zero.
func TestONNXAttention(t *testing.T) {
	t.Run("float32", testONNXAttention[float32])
	t.Run("float64", testONNXAttention[float64])
}

func testONNXAttention[T dense.Float](t *testing.T) {
	for seed, n := range onnxNodes() {
		t.Run(n.name, func(t *testing.T) {
			in := n.inputs(rand.New(rand.NewPCG(uint64(seed), 1)))
			call, want, _ := n.truth(in)
			largestScore := 0.0
			for _, s := range want.raw.Data {
				largestScore = max(largestScore, math.Abs(s))
			}
			got, err := attendONNX[T](n, in)
			require.NoError(t, err)
			// A score is a sum of d products of numbers in [0, 1], to which a bias in [0, 1] is
			// added. Its error is a relative error of weights, and outputs are averages of values.
			u := densetest.Roundoff[T]()
			score := u * float64(n.q[3]+16) * (largestScore + 1)
			output := 2*score + u*float64(n.past+n.k[2]+16)
			if n.scores == performer.ScoresAfterSoftmax {
				score = output
			}
			n.near(t, "outputs", want.out.Data, flat(got.Out), output)
			n.near(t, "keys", call.K.Data, flat(got.K), 0)
			n.near(t, "values", call.V.Data, flat(got.V), 0)
			if n.scores == performer.NoScores {
				assert.True(t, got.Scores.IsZero())
			} else {
				scores := map[performer.Scores]dense.Tensor[float64]{
					performer.ScoresAfterMatMul: want.raw, performer.ScoresAfterSoftcap: want.capped, performer.ScoresAfterBias: want.biased, performer.ScoresAfterSoftmax: want.weights,
				}[n.scores]
				n.near(t, "scores", scores.Data, got.Scores.Data, score)
			}
		})
	}
}

// near asserts that numbers are within the tolerance and, if the node has numbers of float16, that
// they are in float16 within its rounding too. Numbers that are rounded inputs have no error but
// that of T.
func (n onnxNode) near(t *testing.T, name string, want []float64, got any, tolerance float64) {
	t.Helper()
	check := func(got []float64, relative float64) {
		require.Len(t, got, len(want), name)
		for i, x := range want {
			if x != got[i] && !(math.Abs(x-got[i]) <= tolerance+relative*math.Abs(x)) {
				t.Fatalf("%s: element %d is %v, want %v ± %v", name, i, got[i], x, tolerance+relative*math.Abs(x))
			}
		}
	}
	switch got := got.(type) {
	case []float64:
		check(got, 0)
		if n.float16 {
			check(half.Decode[float64](nil, half.Encode[half.Float16](nil, got)), 0x1p-11)
		}
	case []float32:
		all := make([]float64, len(got))
		for i, x := range got {
			all[i] = float64(x)
		}
		n.near(t, name, want, all, tolerance)
	}
}

// flat returns the elements in the order (B, H, L, d).
func flat[T dense.Float](t dense.Tensor[T]) []T {
	var all []T
	for b := range t.Batch {
		for h := range t.Heads {
			for i := range t.Rows {
				all = append(all, t.Row(b, h, i)...)
			}
		}
	}
	return all
}

// The table has the published cases, and rows that see no key are among them.
func TestONNXNodes(t *testing.T) {
	masked, windows, names := 0, 0, map[string]bool{}
	for seed, n := range onnxNodes() {
		names[n.name] = true
		_, _, none := n.truth(n.inputs(rand.New(rand.NewPCG(uint64(seed), 1))))
		masked += none
		if strings.Contains(n.name, "window") {
			windows++
		}
	}
	assert.Len(t, names, 76+11)
	assert.Equal(t, 11, windows)
	assert.Positive(t, masked)
}

// The page of names has a row for each published case, with the call that testONNXAttention makes.
func TestONNXPage(t *testing.T) {
	page, err := os.ReadFile("../docs/names.md")
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `test_attention") {
			rows = append(rows, strings.TrimSuffix(line, "\n"))
		}
	}
	var want, windows []string
	for _, n := range onnxNodes() {
		if strings.Contains(n.name, "window") {
			windows = append(windows, n.row())
		} else {
			want = append(want, n.row())
		}
	}
	assert.Len(t, want, 76)
	want = append(want, windows...)
	assert.Equal(t, want, rows, "want the rows\n%s", strings.Join(want, "\n"))
}

// row returns the row of the page for the node.
func (n onnxNode) row() string {
	var softmax, form, fields []string
	field := func(list *[]string, given bool, text string, args ...any) {
		if given {
			*list = append(*list, fmt.Sprintf(text, args...))
		}
	}
	field(&softmax, n.causal, "Causal: true")
	field(&softmax, n.scale != 0, "Scale: %v", n.scale)
	field(&form, len(softmax) > 0, "Softmax: Softmax{%s}", strings.Join(softmax, ", "))
	field(&form, n.softcap != 0, "Softcap: %v", n.softcap)
	window, masked := n.left > 0 || n.right > 0, n.mask != [4]int{}
	field(&fields, true, "Q: q, K: k, V: v")
	field(&fields, n.past > 0, "PastK: pastK, PastV: pastV")
	field(&fields, n.nonpad != nil, "Lengths: lengths")
	field(&fields, masked && !n.boolean, "Bias: mask")
	field(&fields, masked && n.boolean && !window, "Mask: mask")
	field(&fields, window && !(masked && n.boolean), "Mask: window")
	field(&fields, window && masked && n.boolean, "Mask: both")
	results := "`Out`"
	if n.past > 0 {
		results += ", `K`, `V`"
	}
	if n.scores != performer.NoScores {
		names := []string{"", "ScoresAfterMatMul", "ScoresAfterSoftcap", "ScoresAfterBias", "ScoresAfterSoftmax"}
		field(&fields, true, "Scores: %s", names[n.scores])
		results += ", `Scores`"
	}
	inputs := "4-D"
	if n.rank3 {
		inputs = "3-D"
	}
	if n.float16 {
		inputs += ", float16"
	}
	return fmt.Sprintf("| `%s` | %s | `ExactOptions{%s}` | `AttendArgs{%s}` | %s |", n.name, inputs, strings.Join(form, ", "), strings.Join(fields, ", "), results)
}
