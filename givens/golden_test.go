package givens_test

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestTurn compares cosines and sines with those of math, which are within a unit in the last
// place, at the edges of quarters and eighths of a turn and at random angles.
func TestTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	at := []uint64{0, 1, 1 << 11, math.MaxUint64}
	for eighth := range uint64(8) {
		for _, by := range []uint64{0, 1 << 11, 1<<64 - 1<<11, 1 << 40} {
			at = append(at, eighth<<61+by)
		}
	}
	for range 20000 {
		at = append(at, rng.Uint64())
	}
	for _, u := range at {
		cos, sin := givens.Turn(u)
		// The angle has the error of a product; the exact product takes it away.
		fraction := new(big.Float).SetPrec(200).SetUint64(u >> 11)
		pi, _ := new(big.Float).SetPrec(200).SetString("3.14159265358979323846264338327950288419716939937510582097494459")
		fraction.Mul(fraction, pi).SetMantExp(fraction, -52)
		angle, _ := fraction.Float64()
		rest, _ := new(big.Float).Sub(fraction, big.NewFloat(angle)).Float64()
		s, c := math.Sincos(angle)
		assert.InDelta(t, c-rest*s, cos, 0x1p-52, "cosine of %d", u)
		assert.InDelta(t, s+rest*c, sin, 0x1p-52, "sine of %d", u)
		assert.InDelta(t, 1, cos*cos+sin*sin, 0x1p-51)
	}
}

// golden says what the seed c gives: checksums of the bits of P·x and of PᵀP·x.
func golden[T dense.Float](t *testing.T, c uint64, d, n int) string {
	p, err := givens.RandomProduct[T](d, n, rand.NewPCG(c, c))
	require.NoError(t, err)
	return fmt.Sprintf("seed=%d d=%d n=%d %T=%s", c, d, n, T(0), bits(p))
}

// bits returns the checksums of P·x and PᵀP·x.
func bits[T dense.Float](p *givens.Product[T]) string {
	d, _ := p.Dims()
	x := make([]T, d)
	for i := range x {
		x[i] = T(uint32(i+1)*2654435769>>8)/(1<<20) - 8
	}
	y := p.ApplyVec(nil, x)
	return densetest.Checksum(y) + "," + densetest.Checksum(p.ApplyTransposedVec(nil, y))
}

// TestGolden holds the promise that a seed gives the same product, with the same bits, in every
// version and on every platform.
//
//ci:portable
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "products.txt")
	var lines []string
	for i, c := range [][2]int{{1, 0}, {2, 0}, {3, 0}, {10, 0}, {50, 7}, {31, 0}} {
		lines = append(lines, golden[float32](t, uint64(i), c[0], c[1]), golden[float64](t, uint64(i), c[0], c[1]))
	}
	densetest.GoldenLines(t, path, lines, *update)
}
