package performer

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Join combines Results that [Attend] has computed, with LogSums, for equal queries over separate
// parts of the keys into normalised attention over all keys. The joined output is the average of
// the outputs out_p of the parts p with weights exp(l_p), for the LogSums l_p:
//
//	out = Σ_p exp(l_p − l)·out_p,  l = log Σ_p exp(l_p)
//
// Of the fields of the Result, Join sets Out and LogSums only. The denominator of the joined output
// contains the SinkWeights of all parts, so that only one part should have a SinkWeight. The output
// of a query that sees no key in any part is zero. Rounding of a log sum l_p changes the weight of
// part p by a factor of at most 1 ± |l_p|·2⁻²⁴ in float32, and 1 ± |l_p|·2⁻⁵³ in float64.
//
// For parts with Out (B, H, Lq, dv) and LogSums (B, H, Lq, 1), Join takes time in proportion to the
// number of elements in the outputs of all parts. Join returns an error if there is no part, or if
// the shapes of Out and LogSums do not fit, and panics if Check of a tensor panics.
func Join[T dense.Float](parts ...Result[T]) (Result[T], error) {
	if len(parts) == 0 {
		return Result[T]{}, errors.New("performer: Join of no parts, want at least 1")
	}
	shape := parts[0].Out.Shape()
	for i, p := range parts {
		p.Out.Check()
		p.LogSums.Check()
		want := [4]int{shape[0], shape[1], shape[2], 1}
		if p.Out.Shape() != shape || p.LogSums.Shape() != want {
			return Result[T]{}, fmt.Errorf("performer: part %d has Out of %v and LogSums of %v, want %v and %v", i, p.Out.Shape(), p.LogSums.Shape(), shape, want)
		}
	}
	r := Result[T]{Out: like(parts[0].Out), LogSums: like(parts[0].LogSums)}
	for b := range shape[0] {
		for h := range shape[1] {
			for i := range shape[2] {
				r.LogSums.Row(b, h, i)[0] = joinRow(r.Out.Row(b, h, i), parts, b, h, i)
			}
		}
	}
	return r, nil
}

func joinRow[T dense.Float](dst []T, parts []Result[T], b, h, i int) T {
	peak, sum := math.Inf(-1), 0.0
	for _, p := range parts {
		peak = max(peak, float64(p.LogSums.Row(b, h, i)[0]))
	}
	if math.IsInf(peak, -1) { // outputs are 0, or NaN where all scores are −Inf
		for _, p := range parts {
			vecmath.AddScaled(dst, p.Out.Row(b, h, i), 1)
		}
		return T(peak)
	}
	for _, p := range parts {
		sum += math.Exp(float64(p.LogSums.Row(b, h, i)[0]) - peak)
	}
	for _, p := range parts {
		if l := float64(p.LogSums.Row(b, h, i)[0]); !math.IsInf(l, -1) {
			vecmath.AddScaled(dst, p.Out.Row(b, h, i), T(math.Exp(l-peak)/sum))
		}
	}
	return T(peak + math.Log(sum))
}
