package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/rff"
)

const (
	peakRate    = 3e-3
	warmUp      = 0.05 // fraction of the training in which the rate rises
	evaluations = 20   // points of a curve
	glance      = 2    // held-out batches for each point of a curve
	barSteps    = 100  // steps of the progress bar for one training
)

// training is the training of one model.
type training[T dense.Float] struct {
	name   string
	model  *model[T]
	redraw func() (rff.Map[T], error) // nil to leave features as they are

	steps int
	time  time.Duration
	curve []point
	loss  float64 // over the entire held-out text
}

// point holds the mean loss of the training batches since the last point, and the mean loss over a
// few held-out batches.
type point struct{ seconds, training, heldOut float64 }

// run trains the model on batches drawn by rng, for s.steps steps or else for s.seconds seconds.
// The rate rises, and then falls as a cosine.
func (t *training[T]) run(c corpus, s settings, rng *rand.Rand, bar progress.Bar) error {
	optimiser := newAdamW(t.model.parameters())
	heldOut := c.validation(s.batch, s.context)
	some := heldOut[:min(glance, len(heldOut))]
	var sum float64
	var n, shown int
	start := time.Now()
	for done := 0.0; done < 1; done = t.done(s, start) {
		if t.redraw != nil && s.redraw > 0 && t.steps > 0 && t.steps%s.redraw == 0 {
			if err := t.model.redraw(t.redraw); err != nil {
				return err
			}
		}
		sum += t.model.gradients(c.sample(s.batch, s.context, rng))
		optimiser.step(rate(done))
		t.steps++
		n++
		if done*evaluations >= float64(len(t.curve)) {
			t.curve = append(t.curve, point{time.Since(start).Seconds(), sum / float64(n), t.evaluate(some)})
			sum, n = 0, 0
		}
		for ; float64(shown) < done*barSteps; shown++ {
			bar.Step()
		}
	}
	t.time = time.Since(start)
	t.loss = t.evaluate(heldOut)
	if n > 0 { // otherwise the last step made a point
		t.curve = append(t.curve, point{t.time.Seconds(), sum / float64(n), t.evaluate(some)})
	}
	return nil
}

// done returns the fraction of the training that is over.
func (t *training[T]) done(s settings, start time.Time) float64 {
	if s.steps > 0 {
		return float64(t.steps) / float64(s.steps)
	}
	return time.Since(start).Seconds() / s.seconds
}

func rate(done float64) float64 {
	return peakRate * min(done/warmUp, (1+math.Cos(math.Pi*done))/2)
}

// evaluate returns the mean loss over batches.
func (t *training[T]) evaluate(batches []batch) float64 {
	var sum, n float64
	for _, b := range batches {
		sum += t.model.evaluate(b) * float64(len(b.symbols))
		n += float64(len(b.symbols))
	}
	return sum / n
}

// continuation returns n symbols that the model draws to follow the prompt.
func (m *model[T]) continuation(prompt []int, n int, rng *rand.Rand) []int {
	const temperature = 0.8
	symbols := append([]int(nil), prompt...)
	p := make([]T, m.symbols)
	for range n {
		seen := symbols[max(0, len(symbols)-m.context):]
		logits := m.forward(seen, len(seen))
		softmax(p, logits.Row(len(seen)-1), temperature)
		left := T(rng.Float64())
		next := 0
		for left >= p[next] && next < m.symbols-1 {
			left -= p[next]
			next++
		}
		symbols = append(symbols, next)
	}
	return symbols[len(prompt):]
}
