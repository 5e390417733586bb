package ridge

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// LogLoss returns the mean of −log p_i(c_i) over the rows of the probabilities p (n×classes) with
// the classes c_i = labels[i]: +Inf if a class that is there had the probability 0, and NaN for no
// rows. LogLoss panics if a shape does not fit or a label is no class.
func LogLoss[T dense.Float](p dense.Matrix[T], labels []int) float64 {
	checkLabels(p, labels)
	loss := 0.0
	for i, c := range labels {
		loss -= math.Log(float64(p.At(i, c)))
	}
	return loss / float64(len(labels))
}

// Bin is what Calibration counts of predictions of similar confidence.
type Bin struct {
	Rows       int
	Confidence float64 // mean of the largest probabilities
	Accuracy   float64 // how often the class of the largest probability was right
}

// Calibration sorts the rows of the probabilities p (n×classes) by their largest one into bins of
// equal width between 0 and 1, and returns the bins, of which some may be empty, and the expected
// calibration error [Naeini et al. 2015]
//
//	Σ_b n_b/n·|accuracy_b − confidence_b|.
//
// If the probabilities of a classifier are right, both agree in every bin except for chance.
// Calibration panics if a shape does not fit, a label is no class, or bins is below 1 or more than
// memory holds.
func Calibration[T dense.Float](p dense.Matrix[T], labels []int, bins int) ([]Bin, float64) {
	checkLabels(p, labels)
	if bins < 1 {
		panic(fmt.Sprintf("ridge: bins = %d, want at least 1", bins))
	}
	if err := limit.Memory[Bin](bins); err != nil {
		panic(fmt.Sprintf("ridge: bins = %d: %v", bins, err))
	}
	all := make([]Bin, bins)
	for i, c := range labels {
		best := Argmax(p.Row(i))
		v := float64(p.At(i, best))
		b := &all[min(max(int(v*float64(bins)), 0), bins-1)]
		b.Rows++
		b.Confidence += v
		if best == c {
			b.Accuracy++
		}
	}
	expected := 0.0
	for i := range all {
		if b := &all[i]; b.Rows > 0 {
			expected += math.Abs(b.Accuracy-b.Confidence) / float64(len(labels))
			b.Confidence /= float64(b.Rows)
			b.Accuracy /= float64(b.Rows)
		}
	}
	return all, expected
}

// Argmax returns the index of the largest number of a row of probabilities, the first of equal ones.
func Argmax[T dense.Float](p []T) int {
	best := 0
	for j, v := range p {
		if v > p[best] {
			best = j
		}
	}
	return best
}

// checkLabels panics unless labels are classes of the rows of p.
func checkLabels[T dense.Float](p dense.Matrix[T], labels []int) {
	p.Check()
	if len(labels) != p.Rows {
		panic(fmt.Sprintf("ridge: %d labels for probabilities of %d×%d", len(labels), p.Rows, p.Cols))
	}
	for i, c := range labels {
		if c < 0 || c >= p.Cols {
			panic(fmt.Sprintf("ridge: labels[%d] = %d, want a class below %d", i, c, p.Cols))
		}
	}
}
