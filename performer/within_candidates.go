package performer

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Candidate is a kind of forms, of different sizes, that [Within] may choose. The error should fall
// as the size grows, and the cost should grow.
type Candidate[T dense.Float] struct {
	// Name stands after the size in print, as in "256 landmarks".
	Name string

	// Sizes are the sizes to try, ascending. Nil means 32, 64, 128, …
	Sizes []int

	// New returns the form of a size that approximates exact. The form is for a head with the
	// queries q (Lq×d) and keys k (Lk×d), which New may fit the form to, and must neither change nor
	// keep. Rows that do not count are left out.
	New func(exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error)

	// Cost predicts what a call costs, for a shape whose Features are the size.
	Cost func(s Shape) Cost

	// Fall is the power of the size by which the error falls: ½ for random features, whose error is
	// that of a mean. Zero means that the power is not known: Within learns it from two sizes.
	Fall float64
}

// Candidates returns the candidates of [Within] unless it is given others:
//
//   - landmarks, which are chosen among the keys of each call ([NewLandmarks]),
//   - landmarks with as many samples, or with a window of 64 keys ([NewCorrected]),
//   - trigonometric features, which are good at small norms,
//   - positive features that are fitted to queries and keys (rff.SDERF).
//
// All are centred at the means of queries and keys ([Landmarks.Centred], rff.Centred). Features have
// orthogonal frequencies. If exact is causal, there are no samples, and what depends on tokens comes
// from the first ones: landmarks from 16·r tokens, at least 1024 ([NewLandmarksAt]), means and fits
// from 1024.
func Candidates[T dense.Float]() []Candidate[T] {
	return []Candidate[T]{
		{Name: "landmarks", New: landmarkCandidate[T], Cost: Shape.Landmarks},
		{Name: "landmarks with as many samples", New: func(exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error) {
			return correctedCandidate(exact, q, k, size, CorrectedOptions{Samples: size}, src)
		}, Cost: func(s Shape) Cost {
			if s.Causal {
				return Cost{MACs: math.Inf(1)}
			}
			s.Samples = s.Features
			return s.Landmarks()
		}},
		{Name: "landmarks with a window of 64", New: func(exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error) {
			return correctedCandidate(exact, q, k, size, CorrectedOptions{Window: candidateWindow}, src)
		}, Cost: func(s Shape) Cost {
			s.Window = candidateWindow
			return s.Landmarks()
		}},
		{Name: "trigonometric features", Fall: 0.5, New: func(exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error) {
			return featureCandidate(exact, q, k, size, src, func(w orf.Projection[T], _, _ dense.Matrix[T], scale float64) (rff.Map[T], error) {
				return rff.SoftmaxTrig(w, scale)
			})
		}, Cost: func(s Shape) Cost {
			// A projection has two features.
			c := s.Linear()
			s.Projected = false
			return Cost{MACs: c.MACs + s.Linear().MACs, Exps: 2 * c.Exps, Bytes: c.Bytes}
		}},
		{Name: "positive features", Fall: 0.5, New: func(exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error) {
			return featureCandidate(exact, q, k, size, src, func(w orf.Projection[T], q, k dense.Matrix[T], scale float64) (rff.Map[T], error) {
				return rff.SDERF(w, q, k, scale)
			})
		}, Cost: Shape.Linear},
	}
}

const (
	candidateWindow = 64
	fitRows         = 4096 // rows that means and maps are fitted to, at most
	firstTokens     = 1024 // of causal attention, that means and maps are fitted to
)

// landmarkCandidate returns centred attention by landmarks.
func landmarkCandidate[T dense.Float](exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (Form[T], error) {
	return formOf(centredLandmarks(exact, q, k, size, src))
}

// correctedCandidate returns corrected attention by landmarks.
func correctedCandidate[T dense.Float](exact Exact[T], q, k dense.Matrix[T], size int, opts CorrectedOptions, src rand.Source) (Form[T], error) {
	base, err := centredLandmarks(exact, q, k, size, src)
	if err != nil {
		return nil, err
	}
	return formOf(NewCorrected(base, opts, src))
}

// centredLandmarks returns centred attention by landmarks.
func centredLandmarks[T dense.Float](exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source) (*Landmarks[T], error) {
	bidirectional := exact
	bidirectional.Causal = false
	l, err := NewLandmarks(bidirectional, size, src)
	if err != nil {
		return nil, err
	}
	if exact.Causal {
		// Landmarks that are chosen as in a bidirectional call, among the first tokens.
		z := k.RowRange(0, min(k.Rows, max(landmarkPool, poolPerLandmark*size)))
		if z.Rows > size {
			_, c := l.attention(z)
			rows := make([]int, len(c.set.own))
			for i, o := range c.set.own {
				rows[i] = o.key
			}
			z = gather(z, rows)
			l.release(c)
		}
		if l, err = NewLandmarksAt(exact, z); err != nil {
			return nil, err
		}
	}
	_, b, err := rff.Centre(fitted(q, exact.Causal))
	if err != nil {
		return nil, err
	}
	_, c, err := rff.Centre(fitted(k, exact.Causal))
	if err != nil {
		return nil, err
	}
	return l.Centred(b, c)
}

// featureCandidate returns linear attention with a centred map over so many orthogonal frequencies.
func featureCandidate[T dense.Float](exact Exact[T], q, k dense.Matrix[T], size int, src rand.Source, phi func(w orf.Projection[T], q, k dense.Matrix[T], scale float64) (rff.Map[T], error)) (Form[T], error) {
	w, err := orf.Draw[T](orf.GramSchmidt{}, size, q.Cols, src)
	if err != nil {
		return nil, err
	}
	queries, b, err := rff.Centre(fitted(q, exact.Causal))
	if err != nil {
		return nil, err
	}
	keys, c, err := rff.Centre(fitted(k, exact.Causal))
	if err != nil {
		return nil, err
	}
	inner, err := phi(w, queries, keys, exact.scale(q.Cols))
	if err != nil {
		return nil, err
	}
	m, err := rff.Centred(inner, b, c)
	if err != nil {
		return nil, err
	}
	return formOf(New(m, exact.options()))
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
func formOf[T dense.Float, F Form[T]](form F, err error) (Form[T], error) {
	if err != nil {
		return nil, err
	}
	return form, nil
}
