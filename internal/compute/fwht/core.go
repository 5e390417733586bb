package fwht

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Core is an h×h matrix C of signs, h divisible by 4, prepared for ApplyCore. It never changes, and
// goroutines may share it. The columns of C lie in groups of four. If a, b, c, d are the four
// elements of a vector in a group, the product of the group with a row of C is one of
//
//	p+r, p−r, p+q, p−q, m+r, m−r, m+q, m−q,  p = a+b, m = a−b, r = c+d, q = c−d
//
// or its negative. So a row takes one addition for each group instead of four.
type Core struct {
	h     int
	terms []uint16 // the result of Terms
	// kernel is the index of terms in kernelTerms, or −1.
	kernel  int
	scratch pool.Pair[[]float32, []float64] // combinations
}

const (
	// kinds is the number of combinations of a group, negatives included.
	kinds = 16
	// minTile is the smallest number of columns for loops along rows.
	minTile = 8
)

// NewCore returns the core of the h×h matrix with the rows, of ±1, in signs. It panics unless h is
// a multiple of 4 from 4 to 4096 and signs has h² elements.
func NewCore(h int, signs []int8) *Core {
	if h < 4 || h > 4096 || h%4 != 0 || len(signs) != h*h {
		panic(fmt.Sprintf("fwht: core of order %d with %d signs", h, len(signs)))
	}
	c := &Core{h: h, terms: Terms(h, signs)}
	c.kernel = slices.IndexFunc(kernelTerms, func(terms []uint16) bool { return slices.Equal(terms, c.terms) })
	return c
}

// Terms returns the combination of every row of a core and every group, row by row: 16·group plus
// the number of the combination in the list of Core, plus 8 for its negative.
func Terms(h int, signs []int8) []uint16 {
	terms := make([]uint16, 0, h*h/4)
	for i := 0; i < len(signs); i += 4 {
		terms = append(terms, uint16(i%h/4*kinds+kind(signs[i:i+4])))
	}
	return terms
}

func kind(s []int8) int {
	k := 0
	if s[1] != s[0] {
		k = 4
	}
	if s[2] != s[3] {
		k += 2
	}
	if s[2] != s[0] {
		k++
	}
	if s[0] < 0 {
		k += 8
	}
	return k
}

// ApplyCore replaces each of the s columns v of the h×s matrix x, in adjacent rows of s elements,
// by C·v. It runs on the calling goroutine and takes s·h·(h/4 + 2) additions. An element of the
// result is ((±g₀ ± g₁) ± g₂) ± …, with the combinations of the groups in ascending order, so that
// roundings do not depend on the tier. s must be at least 1, and len(x) must be h·s.
func ApplyCore[T Float](c *Core, x []T, s int) {
	if k := best[T](); k != nil && c.kernel >= 0 && k.cores != nil {
		apply := k.cores[c.kernel][1]
		if s%(1<<k.log) > 0 {
			apply = k.cores[c.kernel][0]
		}
		switch {
		case apply == nil:
		case c.h == 12:
			apply(&x[0], s, s, nil) // its sums stay in registers
			return
		default:
			g := scratch[T](c, c.h<<k.log)
			apply(&x[0], s, s, &(*g)[0])
			pool.Put(&c.scratch, g)
			return
		}
	}
	k := widest[T](s)
	width := 1
	// The combinations take half of the first cache at most, unless one column takes more.
	for width < s && 2*width*4*c.h <= cache.L1/2/simd.Size[T]() {
		width *= 2
	}
	if width < minTile {
		width = 1
	}
	if k != nil {
		width = max(width, 1<<k.log)
	}
	g := scratch[T](c, 4*c.h*width)
	v := 0
	if k != nil {
		for ; v+1<<k.log <= s; v += 1 << k.log {
			k.combine(&(*g)[0], &x[v], s, c.h/4)
			k.sums(&x[v], s, &(*g)[0], &c.terms[0], c.h/4, c.h/4)
		}
	}
	if width == 1 {
		for ; v < s; v++ {
			applyColumn(c, x[v:], s, *g)
		}
	}
	for ; v < s; v += width {
		applyTile(c, x[v:], s, min(width, s-v), *g)
	}
	pool.Put(&c.scratch, g)
}

func scratch[T Float](c *Core, n int) *[]T {
	g := pool.Get[[]T](&c.scratch)
	if len(*g) < n {
		*g = make([]T, n)
	}
	return g
}

func applyColumn[T Float](c *Core, x []T, s int, g []T) {
	for i := 0; i < c.h; i += 4 {
		combine((*[kinds]T)(g[4*i:]), x[i*s], x[(i+1)*s], x[(i+2)*s], x[(i+3)*s])
	}
	// The additions of a row wait for each other: four rows are computed at a time.
	n := c.h / 4
	for i := 0; i < c.h; i += 4 {
		t0 := c.terms[i*n:][:n]
		t1 := c.terms[(i+1)*n:][:n]
		t2 := c.terms[(i+2)*n:][:n]
		t3 := c.terms[(i+3)*n:][:n]
		y0, y1, y2, y3 := g[t0[0]], g[t1[0]], g[t2[0]], g[t3[0]]
		for k := 1; k < n; k++ {
			y0 += g[t0[k]]
			y1 += g[t1[k]]
			y2 += g[t2[k]]
			y3 += g[t3[k]]
		}
		x[i*s], x[(i+1)*s], x[(i+2)*s], x[(i+3)*s] = y0, y1, y2, y3
	}
}

func combine[T Float](g *[kinds]T, a, b, c, d T) {
	p, m, r, q := a+b, a-b, c+d, c-d
	g[0], g[1], g[2], g[3] = p+r, p-r, p+q, p-q
	g[4], g[5], g[6], g[7] = m+r, m-r, m+q, m-q
	for k, v := range g[:kinds/2] {
		g[kinds/2+k] = -v
	}
}

func applyTile[T Float](c *Core, x []T, s, width int, g []T) {
	for i := 0; i < c.h; i += 4 {
		combineTile(g[4*i*width:], x[i*s:][:width], x[(i+1)*s:], x[(i+2)*s:], x[(i+3)*s:])
	}
	n := c.h / 4
	for i := range c.h {
		t, y := c.terms[i*n:][:n], x[i*s:][:width]
		k := 0
		switch {
		case n == 1:
			copy(y, g[int(t[0])*width:])
			k = 1
		case n%2 == 1:
			sum3(y, g[int(t[0])*width:], g[int(t[1])*width:], g[int(t[2])*width:])
			k = 3
		default:
			sum2(y, g[int(t[0])*width:], g[int(t[1])*width:])
			k = 2
		}
		for ; k < n; k += 2 {
			sum3(y, y, g[int(t[k])*width:], g[int(t[k+1])*width:])
		}
	}
}

func combineTile[T Float](g, a, b, c, d []T) {
	w := len(a)
	b, c, d = b[:w], c[:w], d[:w]
	pr, pr2, pq, pq2 := g[:w], g[w:][:w], g[2*w:][:w], g[3*w:][:w]
	mr, mr2, mq, mq2 := g[4*w:][:w], g[5*w:][:w], g[6*w:][:w], g[7*w:][:w]
	for j := range a {
		p, r := a[j]+b[j], c[j]+d[j]
		q := c[j] - d[j]
		pr[j], pr2[j], pq[j], pq2[j] = p+r, p-r, p+q, p-q
	}
	for j := range a {
		m, r := a[j]-b[j], c[j]+d[j]
		q := c[j] - d[j]
		mr[j], mr2[j], mq[j], mq2[j] = m+r, m-r, m+q, m-q
	}
	negative := g[8*w:][:8*w]
	for j, v := range g[:8*w] {
		negative[j] = -v
	}
}

func sum2[T Float](y, a, b []T) {
	a, b = a[:len(y)], b[:len(y)]
	for j := range y {
		y[j] = a[j] + b[j]
	}
}

func sum3[T Float](y, a, b, c []T) {
	a, b, c = a[:len(y)], b[:len(y)], c[:len(y)]
	for j := range y {
		y[j] = a[j] + b[j] + c[j]
	}
}
