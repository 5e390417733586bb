package hadamard_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

var (
	_ encoding.BinaryAppender    = (*hadamard.Rotation[float32])(nil)
	_ encoding.BinaryMarshaler   = (*hadamard.Rotation[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*hadamard.Rotation[float32])(nil)
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

func TestRotationOfVectorsDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	for _, d := range []int{300, 768, 1024} {
		r, err := hadamard.NewRotation[float32](d, hadamard.RotationOptions{}, exprand.NewSource(1))
		require.NoError(t, err)
		_, order := r.Dims()
		x, y := make([]float32, d), make([]float32, order)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			r.ApplyVec(y, x)
			r.ApplyTransposedVec(x, y)
		}), "d = %d", d)
	}
}

func testRotationBytes[T dense.Float](t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {2, 3}, {63, 2}, {64, 3}, {65, 3}, {300, 4}} {
		r := newRotation[T](t, c[0], c[1], 5)
		data, err := r.MarshalBinary()
		require.NoError(t, err)
		_, order := r.Dims()
		assert.Len(t, data, 36+8*c[1]*((order+63)/64))

		// The other rotation has scratch memory of its own length.
		other := newRotation[T](t, 7, 1, 6)
		other.ApplyTransposedVec(nil, make([]T, 8))
		require.NoError(t, other.UnmarshalBinary(data))
		assert.Equal(t, hadamard.Factors(r), hadamard.Factors(other))
		x := densetest.Gapped[T](9, 5, c[0])
		y := r.Apply(dense.Matrix[T]{}, x)
		assert.Equal(t, y, other.Apply(dense.Matrix[T]{}, x))
		assert.Equal(t, r.ApplyTransposed(dense.Matrix[T]{}, y), other.ApplyTransposed(dense.Matrix[T]{}, y))
		again, err := other.AppendBinary([]byte("before"))
		require.NoError(t, err)
		assert.Equal(t, append([]byte("before"), data...), again)

		for at := range data {
			damaged := slices.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			assert.Error(t, other.UnmarshalBinary(damaged), "byte %d", at)
			assert.Error(t, other.UnmarshalBinary(data[:at]), "%d bytes", at)
		}
		assert.Equal(t, hadamard.Factors(r), hadamard.Factors(other), "an error changes nothing")
	}
	_, err := new(hadamard.Rotation[T]).MarshalBinary()
	assert.EqualError(t, err, "hadamard: a rotation of 0 factors, want 1 to 4294967295 to write it")
}

//ci:portable
func TestRotationBytes(t *testing.T) {
	densetest.Both(t, testRotationBytes[float32], testRotationBytes[float64])
}

//ci:portable
func TestRotationBytesDoNotDependOnTheType(t *testing.T) {
	data, err := newRotation[float32](t, 100, 3, 5).MarshalBinary()
	require.NoError(t, err)
	var r hadamard.Rotation[float64]
	require.NoError(t, r.UnmarshalBinary(data))
	assert.Equal(t, hadamard.Factors(newRotation[float64](t, 100, 3, 5)), hadamard.Factors(&r))
}

// rotationBytes are the bytes of a rotation with the given head and body.
func rotationBytes(version uint16, factors uint32, d, order uint64, words ...uint64) []byte {
	b := binary.LittleEndian.AppendUint16([]byte("rfhadama"), version)
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0), factors)
	b = binary.LittleEndian.AppendUint64(b, d)
	b = binary.LittleEndian.AppendUint64(b, order)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return densetest.Sealed(b)
}

// TestHostileRotations has checksums that fit and contents that do not.
//
//ci:portable
func TestHostileRotations(t *testing.T) {
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "hadamard: rotation of 0 bytes, want at least 14"},
		{densetest.Sealed([]byte("rfhadam\x00\x01\x00")), `hadamard: rotation begins with "rfhadam\x00", want "rfhadama"`},
		{densetest.Sealed([]byte("rfhadama\x01\x00\x00\x00")), "hadamard: a rotation in 16 bytes without its head"},
		{rotationBytes(2, 1, 1, 1, 0), "hadamard: rotation of version 2, want 1"},
		{rotationBytes(1, 0, 1, 1), "hadamard: a rotation in 36 bytes of 0 factors of order 1"},
		{rotationBytes(1, 2, 1, 1, 0), "hadamard: a rotation in 44 bytes of 2 factors of order 1"},
		{rotationBytes(1, math.MaxUint32, 1, 1<<35, 0), "hadamard: a rotation in 44 bytes of 4294967295 factors of order 34359738368"},
		{rotationBytes(1, 1, 1, math.MaxUint64, 0), "hadamard: a rotation in 44 bytes of 1 factors of order 18446744073709551615"},
		{rotationBytes(1, 1, 1, 0, 0), "hadamard: a rotation in 44 bytes of 1 factors of order 0"},
		{rotationBytes(1, 1, 3, 6, 0), "hadamard: a rotation from R^3 into R^6, want an order that is not below d"},
		{rotationBytes(1, 1, 5, 4, 0), "hadamard: a rotation from R^5 into R^4, want an order that is not below d"},
		{rotationBytes(1, 1, 0, 4, 0), "hadamard: a rotation from R^0 into R^4, want an order that is not below d"},
		{rotationBytes(1, 1, 3, 4, 16), "hadamard: a rotation into R^4 with signs beyond it"},
	} {
		assert.EqualError(t, new(hadamard.Rotation[float32]).UnmarshalBinary(c.data), c.want)
	}
}

// FuzzRotationBytes: a rotation that comes out of any bytes rotates, and gives the bytes again.
func FuzzRotationBytes(f *testing.F) {
	f.Add(rotationBytes(1, 2, 3, 4, 5, 6), true)
	f.Add(rotationBytes(1, 1, 60, 60, 1<<59), false)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal && len(data) >= 4 {
			data = densetest.Sealed(data[:len(data)-4])
		}
		var r hadamard.Rotation[float64]
		if r.UnmarshalBinary(data) != nil {
			return
		}
		d, _ := r.Dims()
		r.ApplyTransposedVec(nil, r.ApplyVec(nil, make([]float64, d)))
		again, err := r.MarshalBinary()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data, again))
	})
}

// golden says what the seed c gives: the bytes of the rotation, and checksums of the bits of R·x
// and of RᵀR·x.
func golden(t *testing.T, c uint64, d int, opts hadamard.RotationOptions) string {
	line := fmt.Sprintf("seed=%d d=%d factors=%d order=%d", c, d, opts.Factors, opts.Order)
	single, err := hadamard.NewRotation[float32](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	double, err := hadamard.NewRotation[float64](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	data, err := single.MarshalBinary()
	require.NoError(t, err)
	return fmt.Sprintf("%s float32=%s float64=%s bytes=%s", line, sums(single), sums(double), base64.StdEncoding.EncodeToString(data))
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
// version and on every platform, and that its bytes are the same and can be read.
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
	for _, line := range densetest.GoldenLines(t, path, lines, *update) {
		_, encoded, _ := strings.Cut(line, " bytes=")
		data, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		var single hadamard.Rotation[float32]
		var double hadamard.Rotation[float64]
		require.NoError(t, single.UnmarshalBinary(data))
		require.NoError(t, double.UnmarshalBinary(data))
		assert.Contains(t, line, fmt.Sprintf(" float32=%s float64=%s ", sums(&single), sums(&double)))
	}
}
