package bytedot

import (
	"encoding/binary"
	"math"
)

func spanRowsReference(dst []uint32, x []float32, stride, rows, sixteens int) {
	for i := range rows {
		for _, v := range x[i*stride:][:Lanes*sixteens] {
			dst[i] = max(dst[i], math.Float32bits(v)&math.MaxInt32)
		}
	}
}

func encodeRowsReference(dst []int8, step int, sums []int32, x []float32, stride int, factors []float32, rows, sixteens int) {
	for i := range rows {
		to := dst[i*step:][:Lanes*sixteens]
		for j, v := range x[i*stride:][:Lanes*sixteens] {
			to[j] = encode(v * factors[i])
			sums[i] += int32(to[j])
		}
	}
}

func spanColumnsReference(dst []uint32, x []float32, stride, rows int) {
	for i := range rows {
		for j, v := range x[i*stride:][:Lanes] {
			dst[j] = max(dst[j], math.Float32bits(v)&math.MaxInt32)
		}
	}
}

func encodeColumnsReference(dst []int8, sums []int32, x []float32, stride int, factors []float32, groups int) {
	for i := range four * groups {
		for j, v := range x[i*stride:][:Lanes] {
			code := encode(v * factors[j])
			dst[i/four*four*Lanes+four*j+i%four] = code
			sums[j] += int32(code)
		}
	}
}

func encode(x float32) int8 {
	if x != x {
		return 0
	}
	return int8(math.RoundToEven(float64(x)))
}

// transposeReference writes unsigned codes, with groups of the same inner indices adjacent.
func transposeReference(dst []uint8, step int, codes []int8, row, groups int) {
	for g := range groups {
		to := dst[g*step:][:four*Lanes]
		for j := range Lanes {
			x := codes[j*row+four*g:][:four]
			word := uint32(uint8(x[0])) | uint32(uint8(x[1]))<<8 | uint32(uint8(x[2]))<<16 | uint32(uint8(x[3]))<<24
			binary.LittleEndian.PutUint32(to[four*j:], word^offset*0x01010101)
		}
	}
}

// widenReference writes codes as words, those of each four in the order 0, 2, 1, 3.
func widenReference(dst, src []int8, sixteens int) {
	for i := range Lanes * sixteens {
		place := [four]int{0, 2, 1, 3}[i%four] + i/four*four
		dst[2*place], dst[2*place+1] = src[i], src[i]>>7
	}
}
