package performer

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/maptest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkCorrected times bases with a window of 64, with 256 samples and with both, beside the
// bases and exact attention: L = 16384, d = dv = 64, m = r = 256, float32.
func BenchmarkCorrected(b *testing.B) {
	const n, d, m = 16384, 64, 256
	rng := rand.New(densetest.Source(70))
	q, k, v := densetest.Normal[float32](rng, n, d, 0, 0.35), densetest.Normal[float32](rng, n, d, 0, 0.35), densetest.Normal[float32](rng, n, d, 0, 1)
	phi := must.Have(rff.SoftmaxPositive(maptest.Frequencies[float32](m, d), 1))
	landmarks := must.Have(NewLandmarks(Exact[float32]{Scale: 1}, m, densetest.Source(1)))
	given := must.Have(NewLandmarksAt(Exact[float32]{Scale: 1, Causal: true}, k.RowRange(0, m)))
	corrected := func(base Form[float32], o CorrectedOptions) Form[float32] {
		return must.Have(NewCorrected(base, o, densetest.Source(2)))
	}
	features, causal := attention(phi, LinearOptions{}), attention(phi, LinearOptions{Causal: true})
	for _, f := range []struct {
		name string
		form Form[float32]
	}{
		{"exact", Exact[float32]{Scale: 1}},
		{"features", features},
		{"features/window", corrected(features, CorrectedOptions{Window: 64})},
		{"features/samples", corrected(features, CorrectedOptions{Samples: 256})},
		{"landmarks", landmarks},
		{"landmarks/window", corrected(landmarks, CorrectedOptions{Window: 64})},
		{"landmarks/samples", corrected(landmarks, CorrectedOptions{Samples: 256})},
		{"landmarks/both", corrected(landmarks, CorrectedOptions{64, 256})},
		{"causal features", causal},
		{"causal features/window", corrected(causal, CorrectedOptions{Window: 64})},
		{"causal landmarks/window", corrected(given, CorrectedOptions{Window: 64})},
	} {
		b.Run(f.name, func(b *testing.B) {
			dst := dense.New[float32](n, d)
			f.form.Forward(dst, q, k, v)
			b.ReportAllocs()
			for b.Loop() {
				f.form.Forward(dst, q, k, v)
			}
		})
	}
}
