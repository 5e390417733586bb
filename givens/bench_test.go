package givens_test

import (
	"fmt"
	"testing"
	"unsafe"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func benchmarkApplyRows[T dense.Float](b *testing.B) {
	for _, n := range []int{64, 1024} {
		p, err := givens.RandomProduct[T](n, 0, exprand.NewSource(1))
		if err != nil {
			b.Fatal(err)
		}
		x, y := densetest.Gapped[T](1, 256, n), dense.New[T](256, n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(y.Data)) * int64(unsafe.Sizeof(y.Data[0])))
			b.ReportAllocs()
			for b.Loop() {
				p.Apply(y, x)
			}
		})
	}
}
