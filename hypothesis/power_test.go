package hypothesis_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

var repeat = flag.Int("repetitions", 0, "repetitions of simulations, 0 for few")

// repetitions returns the flag -repetitions, or usual.
func repetitions(usual int) int {
	if *repeat > 0 {
		return *repeat
	}
	return usual
}

// TestPower compares the shares of repetitions that tests on features reject with the share of the
// exact test, at the level 0.05 and the median distance. Without a difference all tests reject 5 %.
// With R repetitions a difference of two shares has a standard deviation of at most √(½/R). The
// share of 512 features must be within 4 standard deviations. The table in docs/learning.md has
// these shares:
//
//	go test -run TestPower -v ./hypothesis -repetitions 500
func TestPower(t *testing.T) {
	runs := repetitions(12)
	const n, draws = 100, 199
	frequencies := []int{4, 16, 64, 256}
	for _, c := range []struct {
		name string
		d    int
		move func(row []float64, rng *rand.Rand)
	}{
		{"no difference", 5, func([]float64, *rand.Rand) {}},
		{"means by 0.2", 5, func(row []float64, _ *rand.Rand) {
			for j := range row {
				row[j] += 0.2
			}
		}},
		{"deviations by a quarter", 5, func(row []float64, _ *rand.Rand) {
			for j := range row {
				row[j] *= 1.25
			}
		}},
		{"mean of one column in 20 by 0.8", 20, func(row []float64, _ *rand.Rand) { row[0] += 0.8 }},
		{"a correlation of 0.6 in 2 columns", 2, func(row []float64, _ *rand.Rand) { row[1] = 0.6*row[0] + 0.8*row[1] }},
		{"normal against ±1 and noise of 0.3", 1, func(row []float64, rng *rand.Rand) {
			row[0] = (float64(2*rng.IntN(2)-1) + 0.3*row[0]) / math.Sqrt(1.09)
		}},
	} {
		src := rand.NewPCG(51, 52)
		rng := rand.New(src)
		rejected := make([]float64, 1+len(frequencies))
		count := func(i int, p float64) {
			if p <= 0.05 {
				rejected[i] += 1 / float64(runs)
			}
		}
		for range runs {
			x, y := sample[float64](rng, n, c.d, gauss), sample[float64](rng, n, c.d, gauss)
			for i := range n {
				c.move(y.Row(i), rng)
			}
			length := must.Have(ridge.MedianDistance(pool(x, y), src))
			p, _ := quadratic(rng, kernels.Gaussian{LengthScale: length}, x, y, draws)
			count(0, p)
			for i, m := range frequencies {
				got := must.Have(hypothesis.TwoSample(t.Context(), gaussian[float64](m, c.d, length, src), x, y, hypothesis.Options{Draws: draws}, src))
				count(1+i, got.P)
			}
		}
		line := []string{}
		for _, share := range rejected {
			line = append(line, fmt.Sprintf("%.2f", share))
		}
		t.Logf("| %s | %d | %s |", c.name, c.d, strings.Join(line, " | "))
		assert.InDelta(t, rejected[0], rejected[4], 4*math.Sqrt(0.5/float64(runs)), c.name)
	}
}

// TestCellsHavePower: tests with 128 or more cells reject as often as tests with single rows, up to
// the noise of repetitions and a small loss.
func TestCellsHavePower(t *testing.T) {
	runs := repetitions(30)
	const m, n, draws = 1500, 2500, 99
	src := rand.NewPCG(61, 62)
	rng := rand.New(src)
	counts := []int{64, 128, 256, 1024, 4000}
	rejected := make([]float64, len(counts))
	for range runs {
		x, y := sample[float64](rng, m, 2, gauss), sample[float64](rng, n, 2, gauss)
		for i := range y.Data {
			y.Data[i] += 0.07
		}
		phi := gaussian[float64](8, 2, 1.5, src)
		for i, cells := range counts {
			got := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: draws, Cells: cells}, src))
			if got.P <= 0.05 {
				rejected[i] += 1 / float64(runs)
			}
		}
	}
	t.Logf("cells %v: rejected %.3f", counts, rejected)
	for i := range counts {
		assert.InDelta(t, rejected[len(counts)-1], rejected[i], 4*math.Sqrt(0.5/float64(runs)), "%d cells", counts[i])
	}
	assert.Greater(t, rejected[3], 0.3)
}
