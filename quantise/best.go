package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// offer takes rows in places [lo, hi) of a block that are among the best so far into p.best.
func (s *search[T]) offer(p *part, b *block, lo, hi int) {
	worst := math.Float64frombits(s.worst.Load())
	if len(p.best) == s.k {
		worst = max(worst, p.best[0].score)
	}
	norms := b.norms[lo:hi]
	if s.below(p, b, lo, hi, worst) {
		return
	}
	for i, v := range p.products[:hi-lo] {
		cosine := float64(v) * b.ratio(lo+i)
		norm := float64(norms[i])
		score := cosine
		switch {
		case s.by == InnerProduct:
			score = norm * cosine
		case s.by == SquaredDistance:
			score = norm * (2*s.norm*cosine - norm)
		case norm == 0:
			score = 0
		}
		if score < worst {
			continue
		}
		if p.best = keep(p.best, candidate{score, b.first + lo + i}, s.k); len(p.best) == s.k {
			worst = max(worst, p.best[0].score)
		}
	}
}

// below reports whether the scores of these rows are all below worst. It computes them in
// float32, many at a time, and leaves room for rounding; false is always right.
func (s *search[T]) below(p *part, b *block, lo, hi int, worst float64) bool {
	scores, norms := p.scores[:hi-lo], b.norms[lo:hi]
	copy(scores, p.products[:hi-lo])
	if b.ratios != nil {
		vecmath.Multiply(scores, b.ratios[lo:hi])
	}
	squares := 0.0
	switch s.by {
	case InnerProduct:
		vecmath.Multiply(scores, norms)
	case SquaredDistance:
		longest := float64(vecmath.Peak(norms))
		if longest > 0x1p60 || s.norm > 0x1p60 {
			return false
		}
		vecmath.Scale(scores, float32(2*s.norm))
		vecmath.AddScaled(scores, norms, -1)
		vecmath.Multiply(scores, norms)
		squares = longest * longest
	}
	peak := float64(vecmath.Peak(scores))
	return peak+0x1p-20*(math.Abs(peak)+2*squares) < worst
}

// merge takes the best rows of a piece into those of all.
func (s *search[T]) merge(best []candidate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range best {
		s.best = keep(s.best, b, s.k)
	}
	if len(s.best) == s.k {
		s.worst.Store(math.Float64bits(s.best[0].score))
	}
}

// candidate is a row and what it is ranked by.
type candidate struct {
	score float64
	id    int
}

// worse reports whether a comes after b.
func (a candidate) worse(b candidate) bool {
	return a.score < b.score || a.score == b.score && a.id > b.id
}

// keep takes c into a heap of at most k candidates, whose worst is the first, if c is among the
// best k, and returns the heap.
func keep(heap []candidate, c candidate, k int) []candidate {
	if len(heap) < k {
		heap = append(heap, c)
		for i := len(heap) - 1; i > 0 && heap[i].worse(heap[(i-1)/2]); i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
		return heap
	}
	if !heap[0].worse(c) {
		return heap
	}
	heap[0] = c
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].worse(heap[worst]) {
				worst = child
			}
		}
		if worst == i {
			return heap
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}
