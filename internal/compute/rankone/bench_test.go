package rankone

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
)

// BenchmarkTake times 48 tokens of a panel. Names read
//
//	BenchmarkTake/type=float32/rows=64/corrects=true/decays=1
func BenchmarkTake(b *testing.B) {
	for _, rows := range []int{64, 128, 512} {
		eachRule(rows, func(corrects bool, decays int) {
			name := fmt.Sprintf("rows=%d/corrects=%v/decays=%d", rows, corrects, decays)
			b.Run("type=float32/"+name, func(b *testing.B) { benchmarkTake[float32](b, rows, corrects, decays) })
			b.Run("type=float64/"+name, func(b *testing.B) { benchmarkTake[float64](b, rows, corrects, decays) })
		})
	}
}

func benchmarkTake[T dense.Float](b *testing.B, rows int, corrects bool, decays int) {
	const n = 48
	width := Columns[T](rows, 1000, corrects)
	x := newExample[T](rand.New(rand.NewPCG(7, 8)), rows, width, n, 1, corrects, decays)
	clear(x.V.Data) // S stays finite
	for b.Loop() {
		x.Take()
	}
	b.ReportMetric(float64(n*rows*width)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelement/s")
}
