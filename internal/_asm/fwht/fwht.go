// Package fwht writes the kernels of package fwht. Most kernels are written once, for a machine of
// either architecture. Files that begin with avx and neon hold the rest.
package fwht

import (
	"fmt"
	"slices"

	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

type machine[V, G any] interface {
	Machine[V, G]
	// signs returns, for each of the first n stages inside a vector, the vector that is −1 in the
	// lanes of the differences and 1 in the others.
	signs(n int) []V
	// exchange returns x with each lane and its partner of stage s, 1<<s lanes apart, in each
	// other's place.
	exchange(s int, x V) V
	// differences returns a function for a − b in the butterflies of stage h, which may overwrite
	// b, and a function for −a − b.
	differences() (difference func(a, b V, h int) V, negated func(a, b V) V)
	// loadBlock sets v to the vectors of a block from vector first on.
	loadBlock(v []V, first int, b elementBlock[G])
	// lastStage runs stage h, the last one, on the vectors of a block, and writes them.
	lastStage(k writer[V, G], v []V, h int, difference func(a, b V, h int) V, dst G)
	// passes writes a loop over count blocks of 1<<r rows, and over their columns, stride and
	// columns in bytes. body gets functions for one vector of row i.
	passes(r int, p, stride, columns, count G, body func(load func(i int) V, store func(v V, i int)))
	// walk returns a function for a walk down rows, stride bytes apart, four rows at a time.
	walk(stride G) func(p G) walk[V]

	// columns chooses the columns of the next vector of a core, of which left bytes are left.
	columns(left G)
	combine(k writer[V, G])
	sums()
	times()
}

// walk is a position in the rows of a matrix.
type walk[V any] interface {
	// load and store move the first vector of row i of four. The calls must be in the order of i.
	load(i int) V
	store(v V, i int)
	next()
}

type writer[V, G any] struct {
	machine[V, G]
	// radix is the binary logarithm of the number of vectors in registers, with room to work.
	radix int
	// together is the number of vectors whose inner stages come together, inStep the number of
	// those vectors that go in step, and group the number of butterflies whose sums come before
	// their differences.
	together, inStep, group int
}

// log is the binary logarithm of the number of elements of a vector.
func (k writer[V, G]) log() int { return len(fmt.Sprintf("%b", k.Lanes())) - 1 }

// write writes all kernels but the cores.
func (k writer[V, G]) write() {
	for r := 0; r <= k.radix; r++ {
		k.base(r, plain)
		k.base(r, signed)
		if r > 0 {
			k.base(r, streaming)
		}
	}
	for s := 1; s < k.log(); s++ {
		k.lanes(s)
	}
	for r := 3; r <= k.radix; r++ {
		k.pass(r)
	}
	k.times()
	k.combine(k)
	k.sums()
}

// inside runs the stages inside the vectors x, some of them in step. A lane and its partner change
// places, and the vector is added with the sign of the lane: x·(±1) + partner. A fused multiply-add
// rounds this sum as an addition or a subtraction does.
func (k writer[V, G]) inside(x, signs []V) {
	for s, sign := range signs {
		for step := range slices.Chunk(x, k.inStep) {
			partners := make([]V, len(step))
			for i, v := range step {
				partners[i] = k.exchange(s, v)
			}
			copy(step, Each(k.AddMul, step, sign, partners))
		}
	}
}

// butterflies replaces v[i] and v[i+h], for all indices i without the bit h, by their sums and
// differences. done(i), if given, is called when v[i] is final.
func (k writer[V, G]) butterflies(v []V, h int, difference func(a, b V, h int) V, done func(i int)) {
	var indices []int
	for i := range v {
		if i&h == 0 {
			indices = append(indices, i)
		}
	}
	for group := range slices.Chunk(indices, k.group) {
		sums := make([]V, len(group))
		for j, i := range group {
			sums[j] = k.Add(v[i], v[i+h])
		}
		for j, i := range group {
			v[i], v[i+h] = sums[j], difference(v[i], v[i+h], h)
		}
		if done != nil {
			for _, i := range group {
				done(i)
				done(i + h)
			}
		}
	}
}

// kind says what a transform of adjacent blocks does besides.
type kind int

const (
	plain     kind = iota
	signed         // multiplies as it loads
	streaming      // prefetches
)

// elementBlock is a block of elements, with the addresses of a kind.
type elementBlock[G any] struct {
	kind   kind
	size   int // in bytes
	src    G
	factor G // of kind signed: the address of the signs
	ahead  G // of kind streaming: the distance in bytes of the elements to prefetch
}

// line is the size of a line of the caches in bytes.
const line = 64

// base interleaves stages inside vectors with those across them, left half before right, so that
// shuffles of one half overlap additions of the other.
func (k writer[V, G]) base(r int, kind kind) {
	elements, b := k.Lanes()<<r, elementBlock[G]{kind: kind, size: k.Width() << r}
	var dst G
	switch kind {
	case signed:
		k.Begin(fmt.Sprintf("signed%d", r), "(dst, src, signs *T, count int)",
			fmt.Sprintf("writes the transform of count adjacent blocks of %d elements of src times signs into dst.", elements))
		dst, b.src, b.factor = k.Argument("dst"), k.Argument("src"), k.Argument("signs")
	case streaming:
		k.Begin(fmt.Sprintf("stream%d", r), "(p *T, count, ahead int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place and prefetches as many elements, ahead elements further on, into the second cache.", elements))
		dst, b.ahead = k.Argument("p"), k.Argument("ahead")
		k.InBytes(b.ahead)
		b.src = dst
	default:
		k.Begin(fmt.Sprintf("base%d", r), "(p *T, count int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place.", elements))
		dst = k.Argument("p")
		b.src = dst
	}
	count := k.Argument("count")
	signs := k.signs(k.log())
	difference, _ := k.differences()

	k.Label("loop")
	v := make([]V, 1<<r)
	stage := func(part []V, h int) {
		if 2*h < len(v) {
			k.butterflies(part, h, difference, nil)
		} else {
			k.lastStage(k, v, h, difference, dst)
		}
	}
	var run func(lo, n int)
	run = func(lo, n int) {
		part := v[lo : lo+n]
		if n > k.together {
			run(lo, n/2)
			run(lo+n/2, n/2)
			stage(part, n/2)
			return
		}
		k.loadBlock(part, lo, b)
		k.inside(part, signs)
		for h := 1; h < n; h *= 2 {
			stage(part, h)
		}
	}
	run(0, 1<<r)
	if r == 0 {
		k.Store(v[0], dst, 0)
	}
	k.Advance(dst, b.size)
	if kind == signed {
		k.Advance(b.src, b.size)
		k.Advance(b.factor, b.size)
	}
	k.Repeat("loop", count)
	k.End()
}

func (k writer[V, G]) lanes(s int) {
	k.Begin(fmt.Sprintf("lanes%d", s), "(p *T, count int)",
		fmt.Sprintf("transforms adjacent blocks of %d elements, count vectors in all, in place.", 1<<s))
	p, count := k.Argument("p"), k.Argument("count")
	signs := k.signs(s)
	k.Label("loop")
	x := []V{k.Load(p, 0)}
	k.inside(x, signs)
	k.Store(x[0], p, 0)
	k.Advance(p, k.Width())
	k.Repeat("loop", count)
	k.End()
}

func (k writer[V, G]) pass(r int) {
	k.Begin(fmt.Sprintf("pass%d", r), "(p *T, h, columns, count int)",
		fmt.Sprintf("runs the stages h … %dh on the first columns of count adjacent blocks of %dh elements, in place.", 1<<(r-1), 1<<r))
	p, stride, columns, count := k.Argument("p"), k.Argument("h"), k.Argument("columns"), k.Argument("count")
	k.InBytes(stride)
	k.InBytes(columns)
	difference, _ := k.differences()
	k.passes(r, p, stride, columns, count, func(load func(i int) V, store func(v V, i int)) {
		v := make([]V, 1<<r)
		for i := range v {
			v[i] = load(i)
		}
		for h := 1; h < len(v); h *= 2 {
			var done func(i int)
			if 2*h == len(v) {
				done = func(i int) { store(v[i], i) }
			}
			k.butterflies(v, h, difference, done)
		}
	})
	k.End()
}
