package quantise

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// listed reports whether there are kernels for rows at any addresses.
func (s *search[T]) listed() bool { return s.q.table == nil && scan.Listed() }

// short reports whether rows are so short that scan.Products is the fastest kernel for one query.
func (s *search[T]) short() bool { return s.q.words < 8 || s.q.width == 1 && s.q.words <= 16 }

// multiply computes the products of the rows of a chunk with some queries, of which k is the first.
func (s *search[T]) multiply(p *scanner, some []*ranking, k int) {
	q, n := s.q, p.hi-p.lo
	if s.products != nil {
		all := s.products[p.b.first+p.lo:][:n]
		if s.secondPass {
			copy(p.products[:], all)
			return
		}
		defer func() { copy(all, p.products[:]) }()
	}
	dst, rows := p.products[:], p.b.words[p.lo*q.words:p.hi*q.words]
	shifts, allFar := [group]*shift{}, true
	for j, x := range some {
		if x.scans(p.cluster) {
			shifts[j] = q.shiftOf(x.Query, p.cluster)
			allFar = allFar && shifts[j] != nil && shifts[j].far
		}
	}
	// each query by itself
	alone := allFar || q.bands != nil || s.listed() && (p.few || len(s.queries) == 1 && !s.short())
	if !alone {
		tiles := s.tiles[k*scan.DigitWords(q.words, q.width):]
		if q.table != nil {
			scan.LevelProducts(dst, rows, q.table, tiles, n, q.words, q.width, len(some), n)
		} else {
			scan.Products(dst, rows, tiles, n, q.words, q.width, len(some), n)
		}
	}
	for j, x := range some {
		one, own := x.roundedOf(shifts[j]), dst[j*n:][:n]
		switch {
		case !x.scans(p.cluster):
			continue
		case q.bands != nil && (p.few || !s.listed()):
			s.multiplyListed(p, one, own)
			continue
		case q.bands != nil:
			s.multiplyParts(p, one, own)
			continue
		case !alone && one == &x.rounded:
		case s.listed() && (p.few || s.rows.n*q.words < inCaches && q.words > fewWords):
			s.multiplyListed(p, one, own)
			continue
		case s.listed():
			scan.ListedRange(own, rows, one.listed, n, q.words, q.width)
		case q.table != nil:
			scan.LevelProducts(own, rows, q.table, one.tile, n, q.words, q.width, 1, n)
		default:
			scan.Products(own, rows, one.tile, n, q.words, q.width, 1, n)
		}
		vecmath.Scale(own, one.scale)
	}
}

// multiplyParts computes the products of all rows of a chunk part by part.
func (s *search[T]) multiplyParts(p *scanner, x *rounded, dst []float32) {
	n, words := len(dst), s.q.words
	most := (n + scan.ListedStep - 1) / scan.ListedStep * scan.ListedStep
	for k := range x.parts {
		one := &x.parts[k]
		first := unsafe.Pointer(&p.b.words[p.lo*words+one.first])
		for i := range p.rows[:most+scan.ListedMore] {
			p.rows[i] = (*byte)(unsafe.Add(first, 8*words*min(i, n-1)))
		}
		scan.ListedProducts(p.partial[:], p.rows[:], one.listed, most, one.words, one.width)
		if k == 0 {
			copy(dst, p.partial[:])
			vecmath.Scale(dst, one.scale)
		} else {
			vecmath.AddScaled(dst, p.partial[:n], one.scale)
		}
	}
}

// multiplyListed computes products of the selected rows, or of all rows unless few are selected.
func (s *search[T]) multiplyListed(p *scanner, x *rounded, dst []float32) {
	f, words := &p.batch, s.q.words
	if !p.few {
		for i := 0; i < len(dst); i += fewRows {
			n := min(fewRows, len(dst)-i)
			for j, row := 0, p.b.words[(p.lo+i)*words:][:n*words]; j < n; j++ {
				f.list[j] = (*byte)(unsafe.Pointer(&row[j*words]))
			}
			f.multiply(x, n)
			copy(dst[i:], f.products[:n])
		}
		return
	}
	n := 0
	for i := p.nextSelected(0); i < len(dst); i = p.nextSelected(i + 1) { // fewer than fewRows
		f.list[n] = (*byte)(unsafe.Pointer(&p.b.words[(p.lo+i)*words]))
		n++
	}
	f.multiply(x, n)
	n = 0
	for i := p.nextSelected(0); i < len(dst); i = p.nextSelected(i + 1) {
		dst[i] = f.products[n]
		n++
	}
}
