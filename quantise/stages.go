package quantise

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	leastStaged = 768     // the smallest d' with signs
	stagedRows  = 1 << 14 // a search of fewer rows reads all codes
	// a search reads all codes if it may need the codes of more than 1/32 of the rows
	stagedShare = 1 << 5
	stagedMiss  = 0.01 // the probability that a search misses one of its rows

	// codeVariance bounds ‖s‖²/(sᵀu)² − 1 of codes of 4 and 8 bits, but for rare rows. The upper
	// bound of an estimate from a code is the bound from its sign, with this variance added.
	codeVariance = 0.02
)

type sample int

const (
	everyChunk sample = iota
	sampledChunks
	otherChunks
	sampleStep = 16 // one chunk in so many is sampled
)

func (c sample) has(place int) bool { return (place/chunkRows%sampleStep == 0) == (c == sampledChunks) }

func (s *search[T]) find() {
	if s.findStaged() || s.ended() {
		return
	}
	for _, x := range s.queries {
		x.best = x.best[:0]
	}
	s.run()
}

// findStaged finds the best rows of one query in two stages, and reports whether it has. Unless a
// search t of the signs of a sample of rows stops, t reads all signs, s estimates the 2k best rows
// of t, and then the rows whose upper bounds exceed the worst of the best k so far, in descending
// order of bounds.
func (s *search[T]) findStaged() bool {
	x, o := s.queries[0], &s.options
	if s.q.signs == nil || len(s.queries) > 1 || s.rows.n < stagedRows || x.k == 0 || x.k > s.rows.n/(4*stagedShare) || !(x.norm > 0) ||
		o.Only != nil || o.Except != nil || o.Accept != nil {
		return false
	}
	t := s.q.signs.begin(s.rows, s.by)
	defer t.end()
	t.ctx, t.variance = s.ctx, codeVariance
	s.signProducts = scratch.Resize(s.signProducts, s.rows.n)
	t.products = s.signProducts
	few := max((x.k+sampleStep-1)/sampleStep, 2)
	t.addQuery(x.signs, 4*few)
	y := t.queries[0]
	y.zExact = normalQuantile(stagedMiss / float64(x.k))
	t.chunks = sampledChunks
	t.run()
	if !s.estimateBest(x, t, few) {
		return false
	}
	t.secondPass, t.most = true, 0
	for _, r := range t.ranges {
		for lo := r.lo; lo < r.hi; lo += chunkRows {
			if t.chunks.has(lo) {
				t.most += min(chunkRows, r.hi-lo)
			}
		}
	}
	t.most /= stagedShare
	t.run()
	if len(y.possible) > t.most {
		return false
	}
	y.k, y.possible, t.chunks, t.secondPass = 2*x.k, y.possible[:0], otherChunks, false
	y.best = cut(y.best, y.k)
	y.worst.Store(math.Float64bits(math.Inf(-1)))
	t.run()
	if !s.estimateBest(x, t, x.k) {
		return false
	}
	t.chunks, t.secondPass, t.most = everyChunk, true, s.rows.n/stagedShare
	t.run()
	if len(y.possible) > t.most || s.ended() {
		return false
	}
	slices.SortFunc(y.possible, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	for left := y.possible; len(left) > 0 && !left[0].worse(x.best[x.k-1]); {
		some := left[:min(readRows, len(left))]
		left = left[len(some):]
		s.estimateCandidates(x, some)
	}
	return true
}

// estimateBest estimates the best rows of t for x.best, and sets the least of the rows of t to the
// row k. It reports whether there are as many rows.
func (s *search[T]) estimateBest(x *ranking, t *search[T], k int) bool {
	y := t.queries[0]
	y.best = cut(y.best, y.k)
	slices.SortFunc(y.best, func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
	wanted := x.k
	x.k, x.best = k, x.best[:0]
	s.estimateCandidates(x, y.best)
	x.best, x.k = cut(x.best, k), wanted
	if len(x.best) < k || s.ended() {
		return false
	}
	y.least = x.best[k-1]
	return true
}

func (s *search[T]) estimateCandidates(x *ranking, rows []candidate) {
	f := batches.Get()
	defer batches.Put(f)
	for from := 0; from < len(rows); from += fewRows {
		some := rows[from:min(from+fewRows, len(rows))]
		for i, c := range some {
			f.ids[i] = c.row
		}
		s.rows.addRows(f, f.ids[:len(some)], &s.q.layout)
		f.multiply(&x.rounded, len(some))
		for i, c := range some {
			n := numbers{norm: float64(f.columns[norms][i]), ratio: float64(f.columns[ratios][i])}
			score := x.score(nil, &n, x.cosine(nil, f.products[i], &n))
			x.best = keep(x.best, candidate{score, c.row, f.products[i]}, x.k)
		}
	}
}
