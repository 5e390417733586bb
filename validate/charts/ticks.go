package charts

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Below three decades roundTicks labels 1, 2 and 5 times powers of ten, else only powers.
type roundTicks struct{}

func (roundTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	labels := 0
	decades := math.Log10(hi) - math.Log10(lo)
	every := 1 + int(decades/10)
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 && int(e)%every == 0 || decades < 3 && (digit == 2 || digit == 5) {
				t.Label = label(v)
				labels++
			}
			if every == 1 || t.Label != "" {
				ticks = append(ticks, t)
			}
		}
	}
	if labels < 2 {
		return evenTicks{}.Ticks(lo, hi)
	}
	return ticks
}

func label(v float64) string {
	if v >= 1000 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// gonum would make room for labels at the ends, so that panels would differ in height.
type clearOfEnds struct {
	plot.Ticker
	log bool
}

func (c clearOfEnds) Ticks(lo, hi float64) []plot.Tick {
	at := func(v float64) float64 { return (v - lo) / (hi - lo) }
	if c.log {
		at = func(v float64) float64 { return (math.Log(v) - math.Log(lo)) / (math.Log(hi) - math.Log(lo)) }
	}
	const half = 0.025 // half of the height of a label, over the height of a panel
	ticks := c.Ticker.Ticks(lo, hi)
	for i, t := range ticks {
		if place := at(t.Value); place < half || place > 1-half {
			ticks[i].Label = ""
		}
	}
	return ticks
}

type evenTicks struct{}

func (evenTicks) Ticks(lo, hi float64) []plot.Tick {
	const least = 4
	largest := max(-lo, hi)
	ulp := math.Nextafter(largest, math.Inf(1)) - largest
	step := max(math.Pow(10, math.Floor(math.Log10((hi-lo)/least))), ulp)
	for _, factor := range []float64{5, 2} {
		if math.Floor(hi/(factor*step))-math.Ceil(lo/(factor*step))+1 >= least {
			step *= factor
			break
		}
	}
	last, first := int(math.Floor(math.Log10(step))), int(math.Floor(math.Log10(largest)))
	format, digits := byte('f'), max(0, -last)
	if last < -12 || first > 20 {
		format, digits = 'g', first-last+1
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ { // i < 2⁵³, because a step is at least an ulp
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, format, digits, 64)})
	}
	return ticks
}
