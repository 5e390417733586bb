package quantise

// candidate is a row and its score.
type candidate struct {
	score float64
	row   int // the number of the row in all segments
}

// worse reports whether a ranks below b.
func (a candidate) worse(b candidate) bool {
	return a.score < b.score || a.score == b.score && a.row > b.row
}

// keep adds c to a heap of at most k candidates if c is among the best k, and returns the heap. The
// first candidate of the heap is the worst.
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
