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
}

func (o Options) check() (Options, error) {
	o.Bits = cmp.Or(o.Bits, 4)
	if o.Bits != 1 && o.Bits != 2 && o.Bits != 4 && o.Bits != 8 {
		return o, fmt.Errorf("quantise: Bits = %v, want 1, 2, 4 or 8, or 0 for 4", o.Bits)
	}
	return o, nil
}

func (o Options) layout(order int) layout {
	l := layout{elements: order, width: int(o.Bits), clusters: 1}.withParts(scan.Words(order, int(o.Bits)))
	l.has[norms], l.has[ratios] = true, true
	l.has[variances] = o.Bits > 1 // all vectors s have one length with 1 bit
	return l
}

// learnedOrder returns the number of directions that Learn finds in R^d. Codes of 8 bits of these
// directions fill at least one word.
func learnedOrder(d int) int { return max(d, 8) }

func (o Options) learnedWords(d int) int { return max(1, int(math.Ceil(float64(d)*o.Bits/64))) }

func (o Options) learnedLayout(s *spectrum) layout {
	var words []int
	for _, p := range bandsOf(s.Bands).parts {
		words = append(words, p.words)
	}
	l := layout{elements: s.Directions.Rows, clusters: 1}.withParts(words...)
	l.has[norms], l.has[ratios], l.has[variances], l.has[centreProducts] = true, true, o.Bits > 1, s.Mean != nil
	return l
}

// order returns the number d' of rotated coordinates, for Bits of 1, 2, 4 or 8. The code of a row
// fills at least one word, because the law of estimates does not hold for a few coordinates.
func (o Options) order(d int) (int, error) {
	if d < 1 {
		return 0, fmt.Errorf("quantise: d = %d, want at least 1", d)
	}
	if err := limit.Memory[float64](d, 2); err != nil { // the next order is below 2d
		return 0, fmt.Errorf("quantise: d = %d: %w", d, err)
	}
	return max(hadamard.FastOrder(d), 64/int(o.Bits)), nil
}

func errNil(what string) error { return fmt.Errorf("quantise: %s is nil", what) }
