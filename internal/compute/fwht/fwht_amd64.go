//go:build !purego && !noasm

package fwht

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// of returns the kernels of a tier, or nil for the reference.
func of[T Float](tier simd.Tier) *kernels[T] {
	var k unsafe.Pointer
	single := size[T]() == 4
	switch {
	case tier == simd.AVX512 && single:
		k = unsafe.Pointer(&wide32)
	case tier == simd.AVX512:
		k = unsafe.Pointer(&wide64)
	case tier == simd.AVX2 && single:
		k = unsafe.Pointer(&narrow32)
	case tier == simd.AVX2:
		k = unsafe.Pointer(&narrow64)
	}
	return (*kernels[T])(k)
}

var (
	wide32 = kernels[float32]{
		log:     4,
		lanes:   []func(p *float32, count int){nil, lanes1F32AVX512, lanes2F32AVX512, lanes3F32AVX512},
		single:  []func(p *float32, count int){4: base1F32AVX2, base2F32AVX2, base3F32AVX2, base3F32AVX512, base4F32AVX512},
		base:    []func(p *float32, count int){base0F32AVX512, base1F32AVX512, base2F32AVX512, base3F32AVX512, base4F32AVX512},
		signed:  []func(dst, src, signs *float32, count int){signed0F32AVX512, signed1F32AVX512, signed2F32AVX512, signed3F32AVX512, signed4F32AVX512},
		stream:  []func(p *float32, count, ahead int){stream0F32AVX512, stream1F32AVX512, stream2F32AVX512, stream3F32AVX512, stream4F32AVX512},
		pass:    []func(p *float32, h, columns, count int){outer: pass3F32AVX512, pass4F32AVX512},
		times:   timesF32AVX512,
		combine: combineF32AVX512,
		sums:    sumsF32AVX512,
		cores: [][]func(x *float32, stride, columns int, sums *float32){
			{2: core12F32AVX512X, 3: core12F32AVX512Y, 4: core12F32AVX512},
			{2: core20F32AVX512X, 3: core20F32AVX512Y, 4: core20F32AVX512},
			{2: core28F32AVX512X, 3: core28F32AVX512Y, 4: core28F32AVX512},
		},
	}
	wide64 = kernels[float64]{
		log:     3,
		lanes:   []func(p *float64, count int){nil, lanes1F64AVX512, lanes2F64AVX512},
		single:  []func(p *float64, count int){4: base2F64AVX2, base3F64AVX2, base3F64AVX512, base4F64AVX512},
		base:    []func(p *float64, count int){base0F64AVX512, base1F64AVX512, base2F64AVX512, base3F64AVX512, base4F64AVX512},
		signed:  []func(dst, src, signs *float64, count int){signed0F64AVX512, signed1F64AVX512, signed2F64AVX512, signed3F64AVX512, signed4F64AVX512},
		stream:  []func(p *float64, count, ahead int){stream0F64AVX512, stream1F64AVX512, stream2F64AVX512, stream3F64AVX512, stream4F64AVX512},
		pass:    []func(p *float64, h, columns, count int){outer: pass3F64AVX512, pass4F64AVX512},
		times:   timesF64AVX512,
		combine: combineF64AVX512,
		sums:    sumsF64AVX512,
		cores: [][]func(x *float64, stride, columns int, sums *float64){
			{1: core12F64AVX512X, 2: core12F64AVX512Y, 3: core12F64AVX512},
			{1: core20F64AVX512X, 2: core20F64AVX512Y, 3: core20F64AVX512},
			{1: core28F64AVX512X, 2: core28F64AVX512Y, 3: core28F64AVX512},
		},
	}
	narrow32 = kernels[float32]{
		log:     3,
		lanes:   []func(p *float32, count int){nil, lanes1F32AVX2, lanes2F32AVX2},
		single:  []func(p *float32, count int){4: base1F32AVX2, base2F32AVX2, base3F32AVX2},
		base:    []func(p *float32, count int){base0F32AVX2, base1F32AVX2, base2F32AVX2, base3F32AVX2},
		signed:  []func(dst, src, signs *float32, count int){signed0F32AVX2, signed1F32AVX2, signed2F32AVX2, signed3F32AVX2},
		stream:  []func(p *float32, count, ahead int){stream0F32AVX2, stream1F32AVX2, stream2F32AVX2, stream3F32AVX2},
		pass:    []func(p *float32, h, columns, count int){outer: pass3F32AVX2},
		times:   timesF32AVX2,
		combine: combineF32AVX2,
		sums:    sumsF32AVX2,
	}
	narrow64 = kernels[float64]{
		log:     2,
		lanes:   []func(p *float64, count int){nil, lanes1F64AVX2},
		single:  []func(p *float64, count int){4: base2F64AVX2, base3F64AVX2},
		base:    []func(p *float64, count int){base0F64AVX2, base1F64AVX2, base2F64AVX2, base3F64AVX2},
		signed:  []func(dst, src, signs *float64, count int){signed0F64AVX2, signed1F64AVX2, signed2F64AVX2, signed3F64AVX2},
		stream:  []func(p *float64, count, ahead int){stream0F64AVX2, stream1F64AVX2, stream2F64AVX2, stream3F64AVX2},
		pass:    []func(p *float64, h, columns, count int){outer: pass3F64AVX2},
		times:   timesF64AVX2,
		combine: combineF64AVX2,
		sums:    sumsF64AVX2,
	}
)
