package quantise

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Options selects a quantiser. With zero Options, New and Learn use 4 bits per coordinate.
type Options struct {
	// Bits is the number of bits in which New encodes each rotated coordinate, 1, 2, 4 or 8. Zero
	// means 4. For Learn, Bits is the mean number of bits per coordinate, any number from 1/8 to 8.
	Bits float64

	// TwoStage stores the signs of rotated coordinates a second time, in d'/8 + 4 bytes more for a
	// row of d' rotated coordinates. With TwoStage, a search for few of many rows reads all signs,
	// and the codes of possible hits. With TwoStage, the result of Search lacks one or more rows of
	// the result without TwoStage with probability 0.01 at most. Despite TwoStage, a search reads
	// all codes if given several queries or SearchOptions, or if a sample of signs promises no
	// gain. TwoStage requires Bits of 4 or 8, and has no effect on codes with centres or with fewer
	// than 768 rotated coordinates.
	TwoStage bool
}

func (o Options) check() (Options, error) {
	o.Bits = cmp.Or(o.Bits, 4)
	switch {
	case o.Bits != 1 && o.Bits != 2 && o.Bits != 4 && o.Bits != 8:
		return o, fmt.Errorf("quantise: Bits = %v, want 1, 2, 4 or 8, or 0 for 4", o.Bits)
	case o.TwoStage && o.Bits < 4:
		return o, fmt.Errorf("quantise: TwoStage with Bits = %v, want 4 or 8 bits", o.Bits)
	}
	return o, nil
}

func (o Options) layout(order int) layout {
	l := layout{elements: order, width: int(o.Bits), clusters: 1}.withParts(scan.Words(order, int(o.Bits)))
	l.has[norms], l.has[ratios] = true, true
	l.has[variances] = o.Bits > 1 // all vectors s have one length with 1 bit
	if o.TwoStage && order >= leastStaged {
		l.signWords = scan.Words(order, 1)
	}
	return l
}

func (o Options) learnedWords(d int) int { return max(1, int(math.Ceil(float64(d)*o.Bits/64))) }

func (o Options) learnedLayout(d int, s *spectrum) layout {
	var words []int
	for _, p := range bandsOf(s.Bands).parts {
		words = append(words, p.words)
	}
	l := layout{elements: d, clusters: 1}.withParts(words...)
	l.has[norms], l.has[ratios], l.has[variances], l.has[centreProducts] = true, true, o.Bits > 1, s.Mean != nil
	return l
}

const leastDimension = 4

func orderOf(d int) (int, error) {
	if d < 1 {
		return 0, fmt.Errorf("quantise: d = %d, want at least 1", d)
	}
	if err := limit.Memory[float64](d, 2); err != nil { // the next order is below 2d
		return 0, fmt.Errorf("quantise: d = %d: %w", d, err)
	}
	return max(hadamard.FastOrder(d), leastDimension), nil
}

func errNil(what string) error { return fmt.Errorf("quantise: %s is nil", what) }
