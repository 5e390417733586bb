// Command _asm writes the amd64 kernels of package vecmath.
//
//	go run -tags purego . -out ../vecmath_amd64.s -stubs ../stubs_amd64.go -pkg vecmath
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego,!noasm")
	for _, m := range []machine{
		{name: "F32AVX512", size: 4, log: 4, wide: true},
		{name: "F64AVX512", size: 8, log: 3, wide: true},
		{name: "F32AVX2", size: 4, log: 3},
		{name: "F64AVX2", size: 8, log: 2},
	} {
		m.exponentials()
		m.cos()
		m.sincos()
		m.log1p(false)
		m.log1p(true)
		m.simple()
		m.peak()
		m.peakSum()
		m.sumOfSquares()
		m.dot()
		m.outer()
	}
	Generate()
}
