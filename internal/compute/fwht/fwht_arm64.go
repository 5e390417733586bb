//go:build !purego && !noasm

package fwht

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// of returns the kernels of a tier, or nil for the reference.
func of[T Float](tier simd.Tier) *kernels[T] {
	switch {
	case tier != simd.NEON:
		return nil
	case size[T]() == 4:
		return (*kernels[T])(unsafe.Pointer(&neon32))
	}
	return (*kernels[T])(unsafe.Pointer(&neon64))
}

var (
	neon32 = kernels[float32]{
		log:     2,
		lanes:   []func(p *float32, count int){nil, lanes1F32NEON},
		single:  []func(p *float32, count int){4: base2F32NEON, base3F32NEON, base4F32NEON},
		base:    []func(p *float32, count int){base0F32NEON, base1F32NEON, base2F32NEON, base3F32NEON, base4F32NEON},
		signed:  []func(dst, src, signs *float32, count int){signed0F32NEON, signed1F32NEON, signed2F32NEON, signed3F32NEON, signed4F32NEON},
		stream:  []func(p *float32, count, ahead int){stream0F32NEON, stream1F32NEON, stream2F32NEON, stream3F32NEON, stream4F32NEON},
		pass:    []func(p *float32, h, columns, count int){outer: pass3F32NEON, pass4F32NEON},
		times:   timesF32NEON,
		combine: combineF32NEON,
		sums:    sumsF32NEON,
		cores: [][]func(x *float32, stride, columns int, sums *float32){
			{2: core12F32NEON}, {2: core20F32NEON}, {2: core28F32NEON},
		},
	}
	neon64 = kernels[float64]{
		log:     1,
		lanes:   []func(p *float64, count int){nil},
		single:  []func(p *float64, count int){4: base3F64NEON, base4F64NEON},
		base:    []func(p *float64, count int){base0F64NEON, base1F64NEON, base2F64NEON, base3F64NEON, base4F64NEON},
		signed:  []func(dst, src, signs *float64, count int){signed0F64NEON, signed1F64NEON, signed2F64NEON, signed3F64NEON, signed4F64NEON},
		stream:  []func(p *float64, count, ahead int){stream0F64NEON, stream1F64NEON, stream2F64NEON, stream3F64NEON, stream4F64NEON},
		pass:    []func(p *float64, h, columns, count int){outer: pass3F64NEON, pass4F64NEON},
		times:   timesF64NEON,
		combine: combineF64NEON,
		sums:    sumsF64NEON,
		cores: [][]func(x *float64, stride, columns int, sums *float64){
			{1: core12F64NEON}, {1: core20F64NEON}, {1: core28F64NEON},
		},
	}
)
