package hadamard_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

var update = flag.Bool("update", false, "write testdata anew")

// testVectors compares vectors with rows, bit for bit, also in place and in the memory of the
// longer vector.
func testVectors[T dense.Float](t *testing.T) {
	for _, d := range []int{1, 2, 3, 5, 12, 16, 42, 64, 100, 300, 384, 768, 1000, 1024} {
		for _, factors := range []int{1, 2, 3} {
			r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: factors}, exprand.NewSource(uint64(d)))
			require.NoError(t, err)
			_, order := r.Dims()
			x := densetest.Gapped[T](3, 1, d)
			y := r.Apply(dense.Matrix[T]{}, x)
			back := r.ApplyTransposed(dense.Matrix[T]{}, y)
			before := slices.Clone(x.Row(0))
			got := r.ApplyVec(nil, x.Row(0))
			require.Equal(t, y.Row(0), got, "d = %d", d)
			require.Equal(t, before, x.Row(0), "x is only read")
			require.Equal(t, back.Row(0), r.ApplyTransposedVec(nil, got), "d = %d: transposed", d)
			require.Equal(t, y.Row(0), got, "y is only read")

			guarded := slices.Repeat([]T{7}, order+2)
			v := guarded[1 : order+1 : order+1]
			copy(v, x.Row(0))
			require.Equal(t, y.Row(0), r.ApplyVec(v, v[:d]), "d = %d: in place", d)
			require.Equal(t, back.Row(0), r.ApplyTransposedVec(v[:d], v), "d = %d: transposed in place", d)
			require.Equal(t, [2]T{7, 7}, [2]T{guarded[0], guarded[order+1]}, "d = %d: guard elements", d)
		}
	}
	r := newRotation[T](t, 3, 3, 1)
	assert.PanicsWithValue(t, "hadamard: dst has length 4 and x 4, want 4 and 3 for a rotation from R^3 into R^4",
		func() { r.ApplyVec(nil, make([]T, 4)) })
	assert.PanicsWithValue(t, "hadamard: dst has length 4 and y 4, want 3 and 4 for a rotation from R^3 into R^4",
		func() { r.ApplyTransposedVec(make([]T, 4), make([]T, 4)) })
}

func TestRotationOfVectors(t *testing.T) {
	densetest.Both(t, testVectors[float32], testVectors[float64])
}

// golden says what the seed c gives: checksums of the bits of R·x and of RᵀR·x.
func golden(t *testing.T, c uint64, d int, opts hadamard.RotationOptions) string {
	line := fmt.Sprintf("seed=%d d=%d factors=%d order=%d", c, d, opts.Factors, opts.Order)
	single, err := hadamard.NewRotation[float32](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	double, err := hadamard.NewRotation[float64](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	return fmt.Sprintf("%s float32=%s float64=%s", line, sums(single), sums(double))
}

// sums returns the checksums of R·x and RᵀR·x.
func sums[T dense.Float](r *hadamard.Rotation[T]) string {
	d, _ := r.Dims()
	x := make([]T, d)
	for i := range x {
		x[i] = T(uint32(i+1)*2654435769>>8)/(1<<20) - 8
	}
	y := r.ApplyVec(nil, x)
	return densetest.Checksum(y) + "," + densetest.Checksum(r.ApplyTransposedVec(nil, y))
}

// TestGolden holds the promise that a seed gives the same rotation, with the same bits, in every
// version and on every platform.
//
//ci:portable
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "rotations.txt")
	var lines []string
	for i, d := range []int{1, 2, 3, 5, 12, 20, 28, 36, 60, 64, 65, 100, 200, 300, 384, 500, 768, 1000, 1024, 1536, 3072} {
		lines = append(lines, golden(t, uint64(i), d, hadamard.RotationOptions{}))
	}
	for i, d := range []int{3, 44, 344, 2000} {
		lines = append(lines, golden(t, uint64(100+i), d, hadamard.RotationOptions{Factors: i + 1, Order: hadamard.NextOrder(d)}))
	}
	densetest.GoldenLines(t, path, lines, *update)
}
