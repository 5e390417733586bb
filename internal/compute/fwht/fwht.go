// Package fwht computes the fast Walsh–Hadamard transform of slices, for package hadamard.
//
// Every implementation computes each element by the additions and subtractions of the stages h = 1,
// 2, 4, … of the reference, with the same roundings. Results have the same bits in every tier.
package fwht

import (
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

type Float = dense.Float

type kernels[T Float] struct {
	log int
	// single[t], if not nil, is the fastest kernel for one block of 2^t elements. The kernel of the
	// shortest block has narrower vectors, because shuffles across narrow vectors are faster.
	single []func(p *T, count int)
	// lanes[s] runs the first s stages, s < log, on count adjacent vectors.
	lanes []func(p *T, count int)
	// base[r] transforms count adjacent blocks of 2^r vectors.
	base []func(p *T, count int)
	// signed[r] transforms count adjacent blocks of 2^r vectors of src times signs into dst.
	signed []func(dst, src, signs *T, count int)
	// stream[r], for r ≥ 1, is base[r] that also prefetches, into the second cache, the elements
	// that lie ahead elements behind its own.
	stream []func(p *T, count, ahead int)
	// pass[r], for r ≥ outer, runs the r stages h … 2^(r−1)·h on the first columns of count
	// adjacent blocks of 2^r·h elements. h and columns are multiples of a vector.
	pass []func(p *T, h, columns, count int)
	// times writes the products of count vectors of x and f into dst.
	times func(dst, x, f *T, count int)
	// combine writes the combinations of one vector of each of count groups of
	// four rows of x, stride elements apart, into g.
	combine func(g, x *T, stride, count int)
	// sums writes one vector of each of 4·count rows of y, stride elements apart. A row has n
	// terms, the indices of the vectors of g that sums adds.
	sums func(y *T, stride int, g *T, terms *uint16, n, count int)
	// cores[i] applies the core of kernelTerms[i], with room in sums for a vector a row: the first
	// kernel, if not nil, to any number of columns, and the second to a multiple of a vector.
	cores [][2]func(x *T, stride, columns int, sums *T)
}

// Results do not depend on these sizes: every order of the stages has the same additions.
var (
	// firstCache is the largest power of two of bytes that stay in the first cache.
	firstCache = 1 << log2(cache.L1)
	// memory is the size in bytes from which a vector counts as larger than the second cache.
	memory = 2 * cache.L2
)

const (
	// outer is the number of stages of a pass over larger blocks. The 2^outer rows of a pass are
	// powers of two apart and share one set of the first cache, which has at least eight lines.
	outer = 3
	// rangeBytes is the width in bytes of a range of columns. Between two passes a range has
	// segments·rangeBytes bytes, 64 KiB, which stay in any second cache.
	rangeBytes = 1 << 10
)

// Transform replaces x by H·x, unnormalised and in Sylvester order, on the
// calling goroutine. len(x) must be a power of two.
func Transform[T Float](x []T) {
	switch len(x) {
	case 1:
	case 2:
		x[0], x[1] = x[0]+x[1], x[0]-x[1]
	case 4:
		transform4(x)
	case 8:
		transform8(x)
	default:
		k := best[T]()
		if k == nil {
			reference(x)
			return
		}
		if t := log2(len(x)); t < len(k.single) {
			k.single[t](&x[0], 1)
		} else {
			k.transform(x, t, false)
		}
	}
}

// TransformBlocks transforms adjacent blocks of n elements of x, a power of two.
func TransformBlocks[T Float](x []T, n int) {
	k := best[T]()
	if k == nil || len(x) < 1<<k.log {
		for ; len(x) > 0; x = x[n:] {
			Transform(x[:n])
		}
		return
	}
	switch t := log2(n); {
	case t == 0:
	case t < k.log:
		whole := len(x) &^ (1<<k.log - 1)
		k.lanes[t](&x[0], whole>>k.log)
		for x = x[whole:]; len(x) > 0; x = x[n:] {
			Transform(x[:n])
		}
	case t < k.log+len(k.base):
		k.base[t-k.log](&x[0], len(x)>>t)
	default:
		for ; len(x) > 0; x = x[n:] {
			k.transform(x[:n], t, false)
		}
	}
}

// transform transforms 2^t elements, at least a vector of the processor. If x does not fit the
// first cache, transform divides x into segments, transforms the segments by recursion, and runs
// the stages across segments. streaming reports whether x is a segment of a slice larger than the
// second cache.
func (k *kernels[T]) transform(x []T, t int, streaming bool) {
	if len(x) <= firstCache/simd.Size[T]() {
		k.cached(x, t, streaming)
		return
	}
	s := stagesAcross(x)
	segment := len(x) >> s
	for lo := 0; lo < len(x); lo += segment {
		k.transform(x[lo:lo+segment], t-s, streaming || s > outer)
	}
	k.across(x, segment, s)
}

func stagesAcross[T Float](x []T) int {
	if len(x) < memory/simd.Size[T]() {
		return outer
	}
	return 2 * outer
}

// across runs the last s stages, outer or 2·outer of them, on the segments of x.
func (k *kernels[T]) across(x []T, segment, s int) {
	if s == outer {
		k.pass[outer](&x[0], segment, segment, 1)
		return
	}
	k.columnStages(x, segment, segment)
}

func (k *kernels[T]) columnStages(x []T, segment, columns int) {
	width := min(columns, rangeBytes/simd.Size[T]())
	for c := 0; c < columns; c += width {
		k.pass[outer](&x[c], segment, width, 1<<outer)
		for row := range 1 << outer {
			k.pass[outer](&x[c+row*segment], segment<<outer, width, 1)
		}
	}
}

// cached transforms 2^t elements that stay in the first cache. If streaming is true, the first
// stages prefetch the elements behind x.
func (k *kernels[T]) cached(x []T, t int, streaming bool) {
	r := k.first(t)
	count := len(x) >> (k.log + r)
	if streaming {
		k.stream[r](&x[0], count, len(x))
	} else {
		k.base[r](&x[0], count)
	}
	k.passes(x, r)
}

// first returns the number of stages across vectors that run together with the stages inside
// vectors: all stages if there are enough registers, and otherwise the stages that remain before
// the widest passes.
func (k *kernels[T]) first(t int) int {
	radix := len(k.pass) - 1
	if r := t - k.log; r > radix {
		return (r-1)%radix + 1
	}
	return t - k.log
}

func (k *kernels[T]) passes(x []T, r int) {
	radix := len(k.pass) - 1
	for h := 1 << (k.log + r); h < len(x); h <<= radix {
		k.pass[radix](&x[0], h, h, len(x)/(h<<radix))
	}
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }
