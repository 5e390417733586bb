package bytedot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Scores computes scaled products of the first rows of A, as many as y has, and B:
//
//	y_ij = (float32(Σ_l A_il·B_lj)·A.Scales[i])·scales[j]
//
// and raises peaks[j] to y_ij where y_ij is larger. NaN is not larger. The sum is exact, and every
// other operation is rounded. Weights may have fewer inner indices than A. y has Padded(n) columns;
// scales and peaks have as many elements. Scores panics if the shapes do not fit.
func Scores(y dense.Matrix[float32], peaks []float32, a *CodedRows, b *CodedColumns, scales []float32) {
	rows, columns := y.Rows, Padded(b.n)
	check(rows, y.Cols, y.Stride, len(y.Data), a, b)
	peaks, scales = peaks[:columns:len(peaks)], scales[:columns:len(scales)]
	var corrections [Lanes]int32
	for lo := 0; lo < rows; lo += a.most(b) {
		l, count := a.from(lo, b, &corrections), min(a.most(b), rows-lo)
		for j := 0; j < b.n; {
			sixteens, at := b.panelAt(j)
			scores(y.Data[lo*y.Stride+j:], y.Stride, peaks[j:], a.Scales[lo:], scales[j:], l.starts, l.codes, l.row, l.group, b.bytes[at:], count, groups(b.k), sixteens)
			j += Lanes * sixteens
		}
	}
}

// Add adds scaled products of the first rows of A, as many as sums has, and B to scaled sums:
//
//	sums_ij = sums_ij·olds[j] + float32(Σ_l A_il·B_lj)·(A.Scales[i]·news[j]).
//
// The rest is as for Scores: olds and news have Padded(n) elements.
func Add(sums dense.Matrix[float32], olds, news []float32, a *CodedRows, b *CodedColumns) {
	rows, columns := sums.Rows, Padded(b.n)
	check(rows, sums.Cols, sums.Stride, len(sums.Data), a, b)
	olds, news = olds[:columns:len(olds)], news[:columns:len(news)]
	var corrections [Lanes]int32
	for lo := 0; lo < rows; lo += a.most(b) {
		l, count := a.from(lo, b, &corrections), min(a.most(b), rows-lo)
		for j := 0; j < b.n; {
			sixteens, at := b.panelAt(j)
			add(sums.Data[lo*sums.Stride+j:], sums.Stride, a.Scales[lo:], olds[j:], news[j:], l.starts, l.codes, l.row, l.group, b.bytes[at:], count, groups(b.k), sixteens)
			j += Lanes * sixteens
		}
	}
}

func check(rows, columns, stride, size int, a *CodedRows, b *CodedColumns) {
	if rows > a.n || b.k > a.k || b.coded && b.k < a.k || columns != Padded(b.n) || stride < columns || rows > 0 && size < (rows-1)*stride+columns {
		panic(fmt.Sprintf("bytedot: %d×%d with stride %d and %d elements for the product of %d×%d and %d×%d",
			rows, columns, stride, size, a.n, a.k, b.k, b.n))
	}
}
