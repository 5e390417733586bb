package ridge

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/rff"
)

// Rescaled returns the sums of the same rows for the features c_f·φ_f(x), c = scales, without
// reading the rows: it multiplies means by c_f and products by c_f·c_g. phi is the map that
// computes these features, and becomes the map of the result. Rescaled does not change s, and the
// result shares no memory with s.
//
// An element of the result has one or two roundings of float64 beyond those of s. Cost: D²/2
// multiplications, and the memory of s.
//
// The error reports a nil phi, a phi of other dimensions, scales that are not D finite numbers, and
// a phi that does not compute c_f·φ_f at four test points. Rescaled does not compare features above
// 64 there.
func (s *Sums[T]) Rescaled(phi rff.Map[T], scales []float64) (*Sums[T], error) {
	if phi == nil {
		return nil, errNoMap
	}
	if d, width := phi.Dims(); d != s.d || width != len(s.mean) {
		return nil, fmt.Errorf("ridge: phi maps R^%d to R^%d, want R^%d to R^%d", d, width, s.d, len(s.mean))
	}
	if len(scales) != len(s.mean) {
		return nil, fmt.Errorf("ridge: %d scales, want %d", len(scales), len(s.mean))
	}
	for f, c := range scales {
		if c-c != 0 {
			return nil, fmt.Errorf("ridge: scales[%d] = %v, want a finite number", f, c)
		}
	}
	r := &Sums[T]{phi: phi, source: features.New(phi), d: s.d, moments: s.moments.clone(), prints: new(frame.Fingerprint)}
	if err := wrap(checkScaled[T](s.marks(), r.marks(), scales)); err != nil {
		return nil, err
	}
	r.rescale(scales)
	return r, nil
}

// checkScaled returns an error unless scaled are marks of the features of marks times scales.
func checkScaled[T dense.Float](marks, scaled, scales []float64) error {
	const comparable = 64 // marks limit larger features
	var x, y []float64
	for f, c := range scales {
		if a, b := marks[f]*c, scaled[f]; math.Abs(marks[f]) < comparable && math.Abs(a) < comparable {
			x, y = append(x, a), append(y, b)
		}
	}
	if frame.CheckMarks[T](x, y) != nil {
		return fmt.Errorf("phi does not compute the features of the sums times scales")
	}
	return nil
}

// rescale multiplies the features by scales.
func (m *moments) rescale(scales []float64) {
	for f, c := range scales {
		m.mean[f] *= c
		for j := range m.cross.Row(f) {
			m.cross.Row(f)[j] *= c
		}
	}
	parallel.Rows(len(scales), 1+(1<<15)/len(scales), func(lo, hi int) {
		for f := lo; f < hi; f++ {
			row := m.square.row(f)
			for g, c := range scales[:f+1] {
				row[g] *= c * scales[f]
			}
		}
	})
}
