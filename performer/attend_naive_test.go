package performer_test

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// naiveCall is Attend and AttendBackward for an Exact in float64, one pair after another.
type naiveCall struct {
	out, raw, capped, biased, weights dense.Tensor[float64]
	dq, dk, dv, dbias                 dense.Tensor[float64] // dbias has no sides of 1
	dsinks                            []float64             // of log SinkWeight of each head
}

// element returns an element, where sides of 1 serve all.
func element[E dense.Element](t dense.Tensor[E], b, h, i, j int) E {
	return t.Row(min(b, t.Batch-1), min(h, t.Heads-1), min(i, t.Rows-1))[j]
}

// wideTensor returns the tensor in float64.
func wideTensor[T dense.Float](t dense.Tensor[T]) dense.Tensor[float64] {
	if t.IsZero() {
		return dense.Tensor[float64]{}
	}
	w := dense.NewTensor[float64](t.Batch, t.Heads, t.Rows, t.Cols)
	for b := range t.Batch {
		for h := range t.Heads {
			dense.Copy(dense.Head(w, b, h), dense.Head(t, b, h))
		}
	}
	return w
}

// naive computes a call whose K and V are all keys, of which past come before the first query. Keys
// at the left that are hidden from every query are padding.
func naive[T dense.Float](e performer.ExactOptions, c performer.AttendArgs[T], dout dense.Tensor[float64], past int) naiveCall {
	q, k, v, bias := wideTensor(c.Q), wideTensor(c.K), wideTensor(c.V), wideTensor(c.Bias)
	group := q.Heads / k.Heads
	pairs := func() dense.Tensor[float64] { return dense.NewTensor[float64](q.Batch, q.Heads, q.Rows, k.Rows) }
	n := naiveCall{
		out: dense.NewTensor[float64](q.Batch, q.Heads, q.Rows, v.Cols), raw: pairs(), capped: pairs(), biased: pairs(), weights: pairs(),
		dq: like(q), dk: like(k), dv: like(v), dbias: pairs(), dsinks: make([]float64, q.Heads),
	}
	scale := e.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Cols))
	}
	for b := range q.Batch {
		before := past
		if c.Lengths != nil {
			before = c.Lengths[b] - q.Rows
		}
		for h := range q.Heads {
			queries, keys, values := dense.Head(q, b, h), dense.Head(k, b, h/group), dense.Head(v, b, h/group)
			dqs, dks, dvs := dense.Head(n.dq, b, h), dense.Head(n.dk, b, h/group), dense.Head(n.dv, b, h/group)
			hidden := func(i, j int) bool {
				return c.Lengths != nil && j >= c.Lengths[b] ||
					!bias.IsZero() && (j >= bias.Cols || math.IsInf(element(bias, b, h, i, j), -1)) ||
					!c.Mask.IsZero() && (j >= c.Mask.Cols || !element(c.Mask, b, h, i, j))
			}
			everyHides := func(j int) bool {
				for i := range q.Rows {
					if !hidden(i, j) {
						return false
					}
				}
				return true
			}
			pad := 0
			for pad < k.Rows && everyHides(pad) {
				pad++
			}
			for i := range q.Rows {
				raw, capped, biased, dbias := n.raw.Row(b, h, i), n.capped.Row(b, h, i), n.biased.Row(b, h, i), n.dbias.Row(b, h, i)
				peak, sum := math.Inf(-1), 0.0
				seen := make([]bool, k.Rows)
				for j := range seen {
					s := scale * dot(queries.Row(i), keys.Row(j))
					raw[j] = s
					if e.Softcap != 0 {
						s = e.Softcap * math.Tanh(s/e.Softcap)
					}
					capped[j] = s
					far := max(i+before-j, j-i-before)
					seen[j] = !(e.Causal && j > i+before || e.Window > 0 && j >= pad+e.Sinks && far > e.Window ||
						e.Chunk > 0 && floorDiv(i+before-pad, e.Chunk) != floorDiv(j-pad, e.Chunk) || hidden(i, j))
					if biased[j] = math.Inf(-1); !seen[j] {
						continue
					}
					s -= e.Slope * float64(far)
					if !bias.IsZero() {
						s += element(bias, b, h, i, j)
					}
					biased[j], peak = s, max(peak, s)
				}
				sum = e.SinkWeight * math.Exp(-max(peak, -300)) // peak may be −Inf
				for j, s := range biased {
					if seen[j] {
						sum += math.Exp(s - peak)
					}
				}
				out, weights := n.out.Row(b, h, i), n.weights.Row(b, h, i)
				for j, s := range biased {
					if seen[j] {
						weights[j] = math.Exp(s-peak) / sum
						axpy(out, values.Row(j), weights[j])
					}
				}
				if dout.IsZero() {
					continue
				}
				g := dout.Row(b, h, i)
				delta := dot(g, out)
				n.dsinks[h] -= e.SinkWeight * math.Exp(-max(peak, -300)) / max(sum, 1e-300) * delta
				for j, p := range weights {
					if !seen[j] || dot(g, g) == 0 {
						continue
					}
					ds := p * (dot(g, values.Row(j)) - delta)
					dbias[j] = ds
					if e.Softcap != 0 {
						ds *= 1 - math.Pow(capped[j]/e.Softcap, 2)
					}
					axpy(dqs.Row(i), keys.Row(j), scale*ds)
					axpy(dks.Row(j), queries.Row(i), scale*ds)
					axpy(dvs.Row(j), g, p)
				}
			}
		}
	}
	return n
}

func like(t dense.Tensor[float64]) dense.Tensor[float64] {
	return dense.NewTensor[float64](t.Batch, t.Heads, t.Rows, t.Cols)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func axpy(y, x []float64, a float64) {
	for i, v := range x {
		y[i] += a * v
	}
}

// normalTensor returns a tensor of normal numbers, (B, L, H·d) in memory if tokens is set.
func normalTensor[T dense.Float](rng *rand.Rand, b, h, l, d int, tokens bool) dense.Tensor[T] {
	data := make([]T, b*h*l*d)
	for i := range data {
		data[i] = T(rng.NormFloat64())
	}
	if tokens {
		return dense.SplitHeads(dense.Of(b*l, h*d, data), b, h)
	}
	return dense.TensorOf(b, h, l, d, data)
}
