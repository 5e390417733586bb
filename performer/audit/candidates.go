package audit

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
	"github.com/seed-feabd252/randfeat/performer/internal/cost"
	"github.com/seed-feabd252/randfeat/rff"
)

// Candidate is a kind of forms, of different sizes, that [Choose] may choose. The error should fall
// as the size grows, and the cost should grow.
type Candidate[T dense.Float] struct {
	// Name stands after the size in print, as in "256 landmarks".
	Name string

	// Sizes are the sizes to try, ascending. Nil means 32, 64, 128, …
	Sizes []int

	// New returns the form of a size that approximates exact. The form is for a head with the
	// queries q (Lq×d) and keys k (Lk×d), which New may fit the form to, and must neither change nor
	// keep. Rows that do not count are left out.
	New func(exact performer.ExactOptions, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error)

	// Cost predicts how long a call takes, in multiply-adds of T that take as long. An exponential
	// takes as long as 50 of them.
	Cost func(c Call) float64

	// Prepare predicts how long New takes for a call, in the same unit. Nil means no time.
	Prepare func(c Call) float64

	// Fall is the power of the size by which the error falls: ½ for random features, whose error is
	// that of a mean. Zero means that the power is not known: Choose learns it from two sizes.
	Fall float64

	// Maskable says that forms are performer.Maskable, so that causal ones are tried on some queries.
	Maskable bool
}

// Call is what the cost of a call depends on. Causal calls may have fewer queries than keys, which are
// then some of as many.
type Call struct {
	Queries, Keys int
	Dim, Values   int // of queries and keys, and of values
	Size          int // of the candidate
	Causal        bool
}

// byClusters returns the candidate of clusters of keys with a threshold times the size. near is the
// share of near keys with 512 clusters.
func byClusters[T dense.Float](name string, sizes []int, threshold, near float64) Candidate[T] {
	return Candidate[T]{
		Name: name, Sizes: sizes, Fall: 1, Maskable: true,
		New: func(exact performer.ExactOptions, _, _ dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			if !exact.Causal {
				exact.Bits = 8
			}
			return formOf(clusters.New[T](exact, clusters.Options{Clusters: size, Threshold: threshold / float64(size)}, src))
		},
		Cost: func(c Call) float64 { return clusterCost[T](c, near) },
	}
}

// clusterCost returns the cost of clusters of keys with a share of near keys, which is less with
// fewer clusters. The share is more for attention that is diffuse. Clusters come from 16 keys each in
// three rounds. Causal attention finds them at every doubling, and has exact weights for 192 keys of
// a query and for the first 1024 tokens.
func clusterCost[T dense.Float](c Call, near float64) float64 {
	const rounds, sample, most, first, recent = 3, 16, 512, 1024, 192
	exact, part := c, 1.0
	exact.Size = 0
	if c.Causal {
		exact.Queries, part = c.Keys, float64(c.Queries)/float64(max(c.Keys, 1))
	}
	pairs := exactCost[T](exact)
	if c.Causal && c.Keys <= first {
		return part * pairs
	}
	size := float64(min(c.Size, c.Keys))
	labelled := float64(c.Keys) + rounds*min(sample*size, float64(c.Keys))
	share := near * math.Min(1, math.Sqrt(size/most))
	if !c.Causal {
		share *= coarse
	}
	late := float64(exact.Queries)
	if c.Causal {
		labelled *= 2
		late -= first
		share += (first*first/2 + recent*late) * 2 / (float64(c.Keys) * float64(c.Keys))
	}
	return labelled*size*float64(c.Dim) + part*(late*size*float64(c.Dim+c.Values+50)+share*pairs)
}

// shape returns the call of a form whose features are projections.
func shape[T dense.Float](c Call) cost.Shape {
	return cost.Shape{
		Queries: c.Queries, Keys: c.Keys, Dim: c.Dim, Values: c.Values, Features: c.Size, Projected: true, Causal: c.Causal,
		ElementSize: frame.ElementSize[T](),
	}
}

// exactCost returns the cost of exact attention.
func exactCost[T dense.Float](c Call) float64 {
	s := shape[T](c)
	return s.Work(s.Exact())
}

// Candidates returns the candidates of [Choose] unless it is given others:
//
//   - clusters of keys (package clusters), with weights of their own for near keys, in 8 bits unless exact
//     is causal; of C clusters, those of keys are near whose uncertain share of the weights is above 1.5/C,
//     or above 0.5/C,
//   - exact attention in 8 bits (performer.Exact with Bits),
//   - landmarks, which are chosen among the keys of each call (performer.NewLandmarks),
//   - trigonometric features, which are good at small norms,
//   - positive features that are fitted to queries and keys (rff.SDERF).
//
// Landmarks and features are centred at the means of queries and keys (performer.Landmarks.Centred, rff.Centred). Features have
// orthogonal frequencies. If exact is causal, what depends on tokens comes from the first ones: landmarks
// from 16·r tokens, at least 1024 (performer.NewLandmarksAt), means and fits from 1024.
func Candidates[T dense.Float]() []Candidate[T] {
	return []Candidate[T]{
		byClusters[T]("clusters of keys", []int{64, 128, 256, 512, 1024, 2048}, 1.5, 0.1),
		byClusters[T]("clusters of keys with more near keys", []int{256, 512, 1024}, 0.5, 0.18),
		{Name: "bits", Sizes: []int{8}, New: func(exact performer.ExactOptions, _, _ dense.Matrix[T], size int, _ rand.Source) (performer.Attention[T], error) {
			exact.Bits = size
			return formOf(performer.NewExact[T](exact))
		}, Cost: func(c Call) float64 { return coarse * exactCost[T](c) }},
		{Name: "landmarks", New: landmarkCandidate[T], Cost: func(c Call) float64 {
			s := shape[T](c)
			return s.Work(s.Landmarks())
		}},
		{Name: "trigonometric features", Fall: 0.5, Prepare: drawCost, New: func(exact performer.ExactOptions, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			return featureCandidate(exact, q, k, size, src, func(w orf.Projection[T], _, _ dense.Matrix[T], scale float64) (rff.Map[T], error) {
				return rff.SoftmaxTrig(w, scale)
			})
		}, Cost: func(c Call) float64 {
			// A projection has two features.
			s := shape[T](c)
			one := s.Linear()
			s.Projected = false
			return s.Work(cost.Cost{MACs: one.MACs + s.Linear().MACs, Exps: 2 * one.Exps})
		}},
		{Name: "positive features", Fall: 0.5, Prepare: func(c Call) float64 { return drawCost(c) + fitCost(c) }, New: func(exact performer.ExactOptions, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			return featureCandidate(exact, q, k, size, src, func(w orf.Projection[T], q, k dense.Matrix[T], scale float64) (rff.Map[T], error) {
				return rff.SDERF(w, q, k, scale)
			})
		}, Cost: func(c Call) float64 {
			s := shape[T](c)
			return s.Work(s.Linear())
		}},
	}
}

// coarse is the cost of exact attention in 8 bits, as measured on processors that multiply bytes, with
// room for others.
const coarse = 0.4

// drawCost returns the cost of drawing orthogonal frequencies and of means, as measured.
func drawCost(c Call) float64 {
	d := float64(c.Dim)
	return 200*float64(c.Size)*d*d + 10*float64(c.Queries+c.Keys)*d
}

// fitCost returns the cost of fitting positive features: products of the points in float64, and
// eigenvectors, as measured.
func fitCost(c Call) float64 {
	d := float64(c.Dim)
	return 8*float64(min(c.Queries, fitRows)+min(c.Keys, fitRows))*d*d + 1000*d*d*d
}

const (
	fitRows      = 4096 // rows that means and maps are fitted to, at most
	firstTokens  = 1024 // of causal attention, that means, maps and landmarks are fitted to
	firstPerSize = 16   // of causal attention, for each landmark
)

// landmarkCandidate returns centred attention by landmarks.
func landmarkCandidate[T dense.Float](exact performer.ExactOptions, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
	bidirectional := exact
	bidirectional.Causal = false
	l, err := performer.NewLandmarks[T](bidirectional, size, src)
	if err != nil {
		return nil, err
	}
	if exact.Causal {
		// Landmarks that are chosen as in a bidirectional call, among the first tokens.
		z := k.RowRange(0, min(k.Rows, max(firstTokens, firstPerSize*size)))
		z = gather(z, l.Chosen(z))
		if l, err = performer.NewLandmarksAt(exact, z); err != nil {
			return nil, err
		}
	}
	_, b, err := rff.SubtractMean(fitted(q, exact.Causal))
	if err != nil {
		return nil, err
	}
	_, c, err := rff.SubtractMean(fitted(k, exact.Causal))
	if err != nil {
		return nil, err
	}
	return formOf(l.Centred(b, c))
}

// featureCandidate returns linear attention with a centred map over so many orthogonal frequencies.
func featureCandidate[T dense.Float](exact performer.ExactOptions, q, k dense.Matrix[T], size int, src rand.Source, phi func(w orf.Projection[T], q, k dense.Matrix[T], scale float64) (rff.Map[T], error)) (performer.Attention[T], error) {
	w, err := orf.Draw[T](orf.GramSchmidt{}, size, q.Cols, src)
	if err != nil {
		return nil, err
	}
	queries, b, err := rff.SubtractMean(fitted(q, exact.Causal))
	if err != nil {
		return nil, err
	}
	keys, c, err := rff.SubtractMean(fitted(k, exact.Causal))
	if err != nil {
		return nil, err
	}
	inner, err := phi(w, queries, keys, scaleOf(exact, q.Cols))
	if err != nil {
		return nil, err
	}
	m, err := rff.Centred(inner, b, c)
	if err != nil {
		return nil, err
	}
	return formOf(performer.NewLinear(m, linearOptions(exact)))
}

// fitted returns rows of x that maps are fitted to: the first ones if causal, rows at equal distances
// otherwise.
func fitted[T dense.Float](x dense.Matrix[T], causal bool) dense.Matrix[T] {
	if causal {
		return x.RowRange(0, min(x.Rows, firstTokens))
	}
	step := (x.Rows + fitRows - 1) / fitRows
	if step <= 1 {
		return x
	}
	return dense.Matrix[T]{Rows: (x.Rows + step - 1) / step, Cols: x.Cols, Data: x.Data, Stride: x.Stride * step}
}

// formOf returns the form, or the error and no form.
func formOf[T dense.Float, F performer.Attention[T]](form F, err error) (performer.Attention[T], error) {
	if err != nil {
		return nil, err
	}
	return form, nil
}
