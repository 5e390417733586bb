package matmul

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

type kernels[T Float] struct {
	lanes int // elements of a vector
	// strips[v−1][i] multiplies i+1 rows by panels of v vectors.
	strips [2][]strip[T]
	// dots[i], if dots is not nil, multiplies i+1 rows by rows of B: panels of lanes rows with
	// adjacent elements. adds[v−1] are the adders of 1 and of 4 rows of B.
	dots []strip[T]
	adds [2][]adder[T]
	// halfDots, if not nil, are dots for binary16 and bfloat16; widens, if not nil, widen both.
	halfDots [2][]halfStrip[T]
	widens   [2]widener[T]
	// packs[v−1], if not nil, writes n rows of v vectors, the last with lanes columns of from.
	packs []packer[T]
	// transpose, if not nil, transposes count squares of lanes×lanes elements. The squares are side
	// by side in b and one below another in dst, whose rows are next bytes apart.
	transpose func(count int, dst *T, next int, b *T, stride int)
	// invert, if not nil, is InvertTriangle with a diagonal.
	invert func(n int, x *T, stride int, diag *T)
}

// packer moves n rows. Strides are in bytes.
type packer[T Float] = func(n int, to, from *T, stride, lanes int)

// strip is a micro-kernel: it computes C = α·A·B + β·C for a few rows of C and k rows of each of
// the panels of B, at least one panel. A kernel for one vector reads the columns of B that C has. A
// kernel for two vectors reads both vectors to their end.
type strip[T Float] = func(k int, a left[T], b right[T], c target[T], alpha, beta T, panels int)

// halfStrip is a strip for a B of 16 bits and a k that is a multiple of twice the lanes.
type halfStrip[T Float] = func(k int, a left[T], b right[uint16], c target[T], alpha, beta T, panels int)

type widener[T Float] = func(n int, dst *T, src *uint16)

// adder is a kernel that adds A·B to sums for k times its rows of B. The next panel of sums
// follows. An adder for one vector reads the first last columns of B.
type adder[T Float] = func(k, rows int, a left[T], b right[T], sums *T, last, panels int)

type left[T Float] struct {
	first    *T
	row, col int // elements from a row to the next and from a column to the next
}

type right[E any] struct {
	first *E
	row   int // elements from a row to the next
	panel int // elements from a panel to the next
	ahead int // bytes from what a kernel for few rows reads to what it prefetches
}

type target[T Float] struct {
	first  *T
	stride int
	last   int // columns in the last vector of every panel
}

func (k *kernels[T]) strip(rows, vectors int) strip[T] { return k.strips[vectors-1][rows-1] }

func (k *kernels[T]) mostRows() int { return len(k.strips[0]) }

const genericLanes = 16

func generic[T Float]() *kernels[T] {
	return &kernels[T]{
		lanes:  genericLanes,
		strips: [2][]strip[T]{{genericStrip[T](1)}, {genericStrip[T](2)}},
	}
}

func genericStrip[T Float](vectors int) strip[T] {
	return func(k int, a left[T], b right[T], c target[T], alpha, beta T, panels int) {
		width := (vectors-1)*genericLanes + c.last
		for i := range panels {
			from, to := unsafe.Add(unsafe.Pointer(b.first), i*b.panel*simd.Size[T]()), unsafe.Add(unsafe.Pointer(c.first), i*vectors*genericLanes*simd.Size[T]())
			genericPanel(k, a, (*T)(from), b.row, (*T)(to), width, alpha, beta)
		}
	}
}

func genericPanel[T Float](k int, a left[T], b *T, row int, c *T, width int, alpha, beta T) {
	x, rows := unsafe.Slice(a.first, (k-1)*a.col+1), unsafe.Slice(b, (k-1)*row+width)
	var sums [2 * genericLanes]T
	y := sums[:width]
	l := 0
	for ; l+4 <= k; l += 4 {
		accumulate4(y, rows[l*row:], row, x[l*a.col], x[(l+1)*a.col], x[(l+2)*a.col], x[(l+3)*a.col])
	}
	for ; l < k; l++ {
		accumulate(y, rows[l*row:][:width], x[l*a.col])
	}
	dst := unsafe.Slice(c, width)
	if beta == 0 {
		for j := range dst {
			dst[j] = alpha * y[j]
		}
		return
	}
	for j, v := range dst {
		dst[j] = beta*v + alpha*y[j]
	}
}

func accumulate[T Float](y, x []T, a T) {
	x = x[:len(y)]
	for j := range y {
		y[j] += a * x[j]
	}
}

// accumulate4 adds a₀·x₀ + … + a₃·x₃ to y in that order, for four rows of x.
func accumulate4[T Float](y, x []T, row int, a0, a1, a2, a3 T) {
	n := len(y)
	x0, x1, x2, x3 := x[:n], x[row:][:n], x[2*row:][:n], x[3*row:][:n]
	for j := range y {
		v := y[j]
		v += a0 * x0[j]
		v += a1 * x1[j]
		v += a2 * x2[j]
		v += a3 * x3[j]
		y[j] = v
	}
}

func orGeneric[T Float](k *kernels[T]) *kernels[T] {
	if k == nil {
		return generic[T]()
	}
	return k
}

var (
	best32, best64 = orGeneric(kernels32[simd.Best]), orGeneric(kernels64[simd.Best])

	// as bothProducts
	bothBest = [2]unsafe.Pointer{unsafe.Pointer(&best32), unsafe.Pointer(&best64)}
)

func best[T Float]() *kernels[T] { return *(**kernels[T])(bothBest[simd.Size[T]()/8]) }
