package parallel

import (
	"fmt"
	"testing"
)

// chain is a task whose pieces are dependent multiply-adds.
type chain struct {
	length int
	ends   [8]float64
}

func (c *chain) Piece(i int) {
	x := 1.0
	for range c.length {
		x = x*0.999 + 0.1
	}
	c.ends[i] = x
}

// BenchmarkDo has eight pieces; run it with GOMAXPROCS above the number of processors,
// and beside other work, too.
func BenchmarkDo(b *testing.B) {
	for _, length := range []int{100, 1000, 10000} {
		c := &chain{length: length}
		b.Run(fmt.Sprintf("piece=%d", length), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Do(len(c.ends), c)
			}
		})
	}
}
