package quantise

import (
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// cached reports whether all codes may be in a cache.
func (s *search[T]) cached() bool { return s.rows.n*s.q.words < inCaches }

// short reports whether parts are so short that scan.Products is the fastest kernel for one query.
// Kernels of listed rows take as long for 17 words as for 24, but read memory faster.
func (s *search[T]) short(p *part) bool {
	return p.words < 4 || p.width == 1 && p.words <= 16 || p.words < 24 && p.words%8 > 0 && s.cached()
}

func (s *search[T]) multiply(p *scanner, some []*ranking, k int) {
	n := p.hi - p.lo
	var common, each [group]*rounded
	together := false
	for j, x := range some {
		common[j] = x.common
		if x.scans(p.cluster) {
			each[j] = x.roundedOf(s.q.shiftOf(x.Query, p.cluster))
			together = together || each[j] == x.common
		}
	}
	listed := p.few || scan.Listed() && len(s.queries) == 1 && s.cached() && s.q.words > fewWords
	if together = together && !listed; together {
		tiles := s.tiles
		for i, part := range s.q.digits {
			if len(tiles[i]) > 0 {
				tiles[i] = tiles[i][k*scan.DigitWords(part.words, part.width):]
			}
		}
		p.multiply(p.products[:], common[:len(some)], tiles)
	}
	for j, one := range each[:len(some)] {
		own := p.products[j*n:][:n]
		switch {
		case one == nil, together && one == common[j]:
		case listed:
			s.multiplyListed(p, one, own)
		default:
			p.multiply(own, []*rounded{one}, [mostParts][]uint64{one.parts[0].tile})
		}
	}
}

// multiply computes the products of the rows of a chunk with some vectors. tiles are the digits of
// the vectors for each part, or empty for the digits of one vector that are listed.
func (p *scanner) multiply(dst []float32, some []*rounded, tiles [mostParts][]uint64) {
	n, sums := p.hi-p.lo, dst
	for k := range some[0].parts {
		one := &some[0].parts[k]
		rows := p.b.words[k][p.lo*one.words : p.hi*one.words]
		if len(tiles[k]) > 0 {
			scan.Products(sums, rows, tiles[k], n, one.words, one.width, len(some), n)
		} else {
			scan.ListedRange(sums, rows, one.listed, n, one.words, one.width)
		}
		for j, x := range some {
			if k == 0 {
				vecmath.Scale(dst[j*n:][:n], x.parts[k].scale)
			} else {
				vecmath.AddScaled(dst[j*n:][:n], sums[j*n:][:n], x.parts[k].scale)
			}
		}
		sums = p.partial[:]
	}
}

func (s *search[T]) multiplyListed(p *scanner, x *rounded, dst []float32) {
	f := &p.listedRows
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
