package quantise

import (
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// short reports whether rows are so short that scan.Products is the fastest kernel for one query.
func short(words, width int) bool { return words < 8 || width == 1 && words <= 16 }

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
	alone := allFar || q.bands != nil || scan.Listed() && (p.few || len(s.queries) == 1 && !short(q.words, q.width))
	if !alone {
		tiles := s.tiles[k*scan.DigitWords(q.words, q.width):]
		scan.Products(dst, rows, tiles, n, q.words, q.width, len(some), n)
	}
	for j, x := range some {
		one, own := x.roundedOf(shifts[j]), dst[j*n:][:n]
		switch {
		case !x.scans(p.cluster):
			continue
		case q.bands != nil && p.few:
			s.multiplyListed(p, one, own)
			continue
		case q.bands != nil:
			s.multiplyParts(p, one, own)
			continue
		case !alone && one == &x.rounded:
		case scan.Listed() && (p.few || s.rows.n*q.words < inCaches && q.words > fewWords):
			s.multiplyListed(p, one, own)
			continue
		case scan.Listed():
			scan.ListedRange(own, rows, one.listed, n, q.words, q.width)
		default:
			scan.Products(own, rows, one.tile, n, q.words, q.width, 1, n)
		}
		vecmath.Scale(own, one.scale)
	}
}

func (s *search[T]) multiplyParts(p *scanner, x *rounded, dst []float32) {
	n, sums := len(dst), dst
	for k := range x.parts {
		one := &x.parts[k]
		rows := p.b.words[k][p.lo*one.words : p.hi*one.words]
		if len(one.tile) > 0 {
			scan.Products(sums, rows, one.tile, n, one.words, one.width, 1, n)
		} else {
			scan.ListedRange(sums, rows, one.listed, n, one.words, one.width)
		}
		if k == 0 {
			vecmath.Scale(dst, one.scale)
			sums = p.partial[:n]
		} else {
			vecmath.AddScaled(dst, sums, one.scale)
		}
	}
}

func (s *search[T]) multiplyListed(p *scanner, x *rounded, dst []float32) {
	f := &p.batch
	if !p.few {
		for i := 0; i < len(dst); i += fewRows {
			n := min(fewRows, len(dst)-i)
			f.point(0, n, p.b, p.lo+i, &s.q.layout)
			f.multiply(x, n)
			copy(dst[i:], f.products[:n])
		}
		return
	}
	n := 0
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
