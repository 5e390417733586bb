package quantise

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// listed reports whether there are kernels for rows at any addresses.
func (s *search[T]) listed() bool { return s.q.table == nil && scan.Listed() }

// short reports whether rows are so short that scan.Products is the fastest kernel for one query.
func short(words, width int) bool { return words < 8 || width == 1 && words <= 16 }

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
	dst, rows := p.products[:], p.b.words[0][p.lo*q.parts[0]:p.hi*q.parts[0]]
	shifts, allFar := [group]*shift{}, true
	for j, x := range some {
		if x.scans(p.cluster) {
			shifts[j] = q.shiftOf(x.Query, p.cluster)
			allFar = allFar && shifts[j] != nil && shifts[j].far
		}
	}
	// each query by itself
	alone := allFar || q.bands != nil || s.listed() && (p.few || len(s.queries) == 1 && !short(q.words, q.width))
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
		case p.few:
			s.multiplySelected(p, one, own)
			continue
		case q.bands != nil:
			s.multiplyParts(p, one.parts, own)
			continue
		case !alone && one == &x.rounded:
		case s.listed():
			p.multiplyListed(own, one, 0)
		case q.table != nil:
			scan.LevelProducts(own, rows, q.table, one.tile, n, q.words, q.width, 1, n)
		default:
			scan.Products(own, rows, one.tile, n, q.words, q.width, 1, n)
		}
		vecmath.Scale(own, one.scale)
	}
}

// multiplyParts computes the products of all rows of a chunk part by part.
func (s *search[T]) multiplyParts(p *scanner, parts []rounded, dst []float32) {
	clear(dst)
	for k := range parts {
		one, products := &parts[k], p.partial[:len(dst)]
		if len(one.tile) > 0 {
			scan.Products(products, p.b.words[k][p.lo*one.words:p.hi*one.words], one.tile, len(dst), one.words, one.width, 1, 0)
		} else {
			p.multiplyListed(products, one, k)
		}
		vecmath.AddScaled(dst, products, one.scale)
	}
}

// multiplyListed computes the integer products of part k of all rows of a chunk.
func (p *scanner) multiplyListed(dst []float32, x *rounded, k int) {
	n, rows := len(dst), p.b.words[k][p.lo*x.words:]
	whole, last := n/scan.ListedStep*scan.ListedStep, len(rows)-x.words
	list := p.rows[:n+scanMore]
	for i := range list {
		list[i] = (*byte)(unsafe.Pointer(&rows[min(i*x.words, last)]))
	}
	scan.ListedProducts(dst, list[:whole+scanMore], x.listed, whole, x.words, x.width)
	if whole < n {
		var rest [scan.ListedStep]float32
		scan.ListedProducts(rest[:], list[whole:whole+scan.ListedStep], x.listed, scan.ListedStep, x.words, x.width)
		copy(dst[whole:], rest[:])
	}
}

// multiplySelected computes the products of the selected rows of a chunk, of which there are few.
func (s *search[T]) multiplySelected(p *scanner, x *rounded, dst []float32) {
	f, n := &p.batch, 0
	for i := p.nextSelected(0); i < len(dst); i = p.nextSelected(i + 1) { // fewer than fewRows
		f.point(n, 1, p.b, p.lo+i, &s.q.layout)
		n++
	}
	f.multiply(x, n)
	n = 0
	for i := p.nextSelected(0); i < len(dst); i = p.nextSelected(i + 1) {
		dst[i] = f.products[n]
		n++
	}
}
