//go:build !purego && !noasm

package matmul

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// of32 and of64 return the kernels of a tier.

func of32(tier simd.Tier) *kernels[float32] {
	switch tier {
	case simd.AVX512:
		return kernelsOf(16, strips32AVX512[:], [2]packer[float32]{pack1F32AVX512, pack2F32AVX512}, [2]packer[float32]{unpack1F32AVX512, unpack2F32AVX512}, packTransposedF32AVX512).inverting(invertF32AVX512, &ones32[0])
	case simd.AVX2:
		return kernelsOf(8, strips32AVX2[:], [2]packer[float32]{pack1F32AVX2, pack2F32AVX2}, [2]packer[float32]{unpack1F32AVX2, unpack2F32AVX2}, packTransposedF32AVX2)
	}
	return generic[float32]()
}

func of64(tier simd.Tier) *kernels[float64] {
	switch tier {
	case simd.AVX512:
		return kernelsOf(8, strips64AVX512[:], [2]packer[float64]{pack1F64AVX512, pack2F64AVX512}, [2]packer[float64]{unpack1F64AVX512, unpack2F64AVX512}, packTransposedF64AVX512).inverting(invertF64AVX512, &ones64[0])
	case simd.AVX2:
		return kernelsOf(4, strips64AVX2[:], [2]packer[float64]{pack1F64AVX2, pack2F64AVX2}, [2]packer[float64]{unpack1F64AVX2, unpack2F64AVX2}, packTransposedF64AVX2)
	}
	return generic[float64]()
}

// inverting sets the kernel of InvertTriangle; ones is a unit diagonal.
func (k *kernels[T]) inverting(f func(n int, x *T, stride int, diag *T), ones *T) *kernels[T] {
	bytes := size[T]()
	k.invert = func(n int, x []T, stride int, diag []T) {
		pivots := ones
		if diag != nil {
			pivots = &diag[0]
		}
		f(n, &x[0], stride*bytes, pivots)
	}
	return k
}

// ones is a unit diagonal.
var (
	ones32 = [MaxInvert]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	ones64 = [MaxInvert]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
)

var (
	strips32AVX512 = [...][2]strip[float32]{
		{strip1x1F32AVX512, strip1x2F32AVX512},
		{strip2x1F32AVX512, strip2x2F32AVX512},
		{strip3x1F32AVX512, strip3x2F32AVX512},
		{strip4x1F32AVX512, strip4x2F32AVX512},
		{strip5x1F32AVX512, strip5x2F32AVX512},
		{strip6x1F32AVX512, strip6x2F32AVX512},
		{strip7x1F32AVX512, strip7x2F32AVX512},
		{strip8x1F32AVX512, strip8x2F32AVX512},
		{strip9x1F32AVX512, strip9x2F32AVX512},
		{strip10x1F32AVX512, strip10x2F32AVX512},
		{strip11x1F32AVX512, strip11x2F32AVX512},
		{strip12x1F32AVX512, strip12x2F32AVX512},
		{strip13x1F32AVX512, strip13x2F32AVX512},
		{strip14x1F32AVX512, strip14x2F32AVX512},
	}
	strips32AVX2 = [...][2]strip[float32]{
		{strip1x1F32AVX2, strip1x2F32AVX2},
		{strip2x1F32AVX2, strip2x2F32AVX2},
		{strip3x1F32AVX2, strip3x2F32AVX2},
		{strip4x1F32AVX2, strip4x2F32AVX2},
		{strip5x1F32AVX2, strip5x2F32AVX2},
		{strip6x1F32AVX2, strip6x2F32AVX2},
	}
	strips64AVX512 = [...][2]strip[float64]{
		{strip1x1F64AVX512, strip1x2F64AVX512},
		{strip2x1F64AVX512, strip2x2F64AVX512},
		{strip3x1F64AVX512, strip3x2F64AVX512},
		{strip4x1F64AVX512, strip4x2F64AVX512},
		{strip5x1F64AVX512, strip5x2F64AVX512},
		{strip6x1F64AVX512, strip6x2F64AVX512},
		{strip7x1F64AVX512, strip7x2F64AVX512},
		{strip8x1F64AVX512, strip8x2F64AVX512},
		{strip9x1F64AVX512, strip9x2F64AVX512},
		{strip10x1F64AVX512, strip10x2F64AVX512},
		{strip11x1F64AVX512, strip11x2F64AVX512},
		{strip12x1F64AVX512, strip12x2F64AVX512},
		{strip13x1F64AVX512, strip13x2F64AVX512},
		{strip14x1F64AVX512, strip14x2F64AVX512},
	}
	strips64AVX2 = [...][2]strip[float64]{
		{strip1x1F64AVX2, strip1x2F64AVX2},
		{strip2x1F64AVX2, strip2x2F64AVX2},
		{strip3x1F64AVX2, strip3x2F64AVX2},
		{strip4x1F64AVX2, strip4x2F64AVX2},
		{strip5x1F64AVX2, strip5x2F64AVX2},
		{strip6x1F64AVX2, strip6x2F64AVX2},
	}
)
