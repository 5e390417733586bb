package givens_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

var (
	_ encoding.BinaryAppender    = (*givens.Product[float32])(nil)
	_ encoding.BinaryMarshaler   = (*givens.Product[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*givens.Product[float32])(nil)
)

var update = flag.Bool("update", false, "write testdata anew")

func testProductBytes[T dense.Float](t *testing.T) {
	for _, c := range [][2]int{{1, 0}, {2, 1}, {7, 0}, {40, 3}, {33, 0}} {
		p := random[T](t, c[0], c[1], 5)
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		assert.Len(t, data, 36+(8+2*int(unsafe.Sizeof(T(0))))*p.Len())

		q := random[T](t, 3, 0, 6)
		require.NoError(t, q.UnmarshalBinary(data))
		assert.Equal(t, p, q)
		again, err := q.AppendBinary([]byte("before"))
		require.NoError(t, err)
		assert.Equal(t, append([]byte("before"), data...), again)
		x := densetest.Gapped[T](9, 5, c[0])
		assert.Equal(t, p.Apply(dense.Matrix[T]{}, x), q.Apply(dense.Matrix[T]{}, x))

		for at := range data {
			damaged := slices.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			assert.Error(t, q.UnmarshalBinary(damaged), "byte %d", at)
			assert.Error(t, q.UnmarshalBinary(data[:at]), "%d bytes", at)
		}
		assert.Equal(t, p, q, "an error changes nothing")
	}
	_, err := new(givens.Product[T]).MarshalBinary()
	assert.EqualError(t, err, "givens: a zero Product, want one of RandomProduct to write it")
}

//ci:portable
func TestProductBytes(t *testing.T) {
	densetest.Both(t, testProductBytes[float32], testProductBytes[float64])
}

// productBytes are the bytes of a product of one rotation in float32.
func productBytes(version, size uint16, d, n uint64, i, j uint32, cos, sin float32) []byte {
	b := binary.LittleEndian.AppendUint16([]byte("rfgivens"), version)
	b = binary.LittleEndian.AppendUint16(b, size)
	b = binary.LittleEndian.AppendUint64(append(b, 0, 0, 0, 0), d)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = binary.LittleEndian.AppendUint32(b, i)
	b = binary.LittleEndian.AppendUint32(b, j)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(cos))
	return densetest.Sealed(binary.LittleEndian.AppendUint32(b, math.Float32bits(sin)))
}

// TestHostileProducts has checksums that fit and contents that do not.
//
//ci:portable
func TestHostileProducts(t *testing.T) {
	require.NoError(t, new(givens.Product[float32]).UnmarshalBinary(productBytes(1, 4, 3, 1, 0, 2, 1, 0)))
	nan := float32(math.NaN())
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "givens: product of 0 bytes, want at least 14"},
		{densetest.Sealed([]byte("rfhadama\x01\x00")), `givens: product begins with "rfhadama", want "rfgivens"`},
		{densetest.Sealed([]byte("rfgivens\x01\x00\x00\x00")), "givens: a product in 16 bytes without its head"},
		{productBytes(2, 4, 3, 1, 0, 2, 1, 0), "givens: product of version 2, want 1"},
		{productBytes(1, 8, 3, 1, 0, 2, 1, 0), "givens: a product of 8-byte elements, want 4"},
		{productBytes(1, 4, 3, 2, 0, 2, 1, 0), "givens: a product in 52 bytes of 2 rotations"},
		{productBytes(1, 4, 3, math.MaxUint64, 0, 2, 1, 0), "givens: a product in 52 bytes of 18446744073709551615 rotations"},
		{productBytes(1, 4, 0, 1, 0, 2, 1, 0), "givens: a product of dimension 0, want 1 to 2147483647"},
		{productBytes(1, 4, 1<<31, 1, 0, 2, 1, 0), "givens: a product of dimension 2147483648, want 1 to 2147483647"},
		{productBytes(1, 4, 3, 1, 0, 3, 1, 0), "givens: rotation 0 of axes 0 and 3, want two of 3"},
		{productBytes(1, 4, 3, 1, 1<<31, 2, 1, 0), "givens: rotation 0 of axes 2147483648 and 2, want two of 3"},
		{productBytes(1, 4, 3, 1, 2, 2, 1, 0), "givens: rotation 0 of axes 2 and 2, want two of 3"},
		{productBytes(1, 4, 3, 1, 0, 2, 1, 0.5), "givens: rotation 0 has cosine 1 and sine 0.5, which are of no angle"},
		{productBytes(1, 4, 3, 1, 0, 2, nan, 0), "givens: rotation 0 has cosine NaN and sine 0, which are of no angle"},
	} {
		assert.EqualError(t, new(givens.Product[float32]).UnmarshalBinary(c.data), c.want)
	}
}

// TestHostileDimension has few bytes of a product in a space whose vectors may be beyond all
// memory.
//
//ci:portable
func TestHostileDimension(t *testing.T) {
	const d = math.MaxInt32
	data := productBytes(1, 4, d, 1, 0, d-1, 1, 0)
	var p givens.Product[float32]
	read := p.UnmarshalBinary(data)
	_, drawn := givens.RandomProduct[float32](d, 1, rand.NewPCG(1, 1))
	if memory := limit.Memory[float32](d); memory != nil {
		assert.EqualError(t, read, fmt.Sprintf("givens: a product of dimension %d: %v", d, memory))
		assert.EqualError(t, drawn, fmt.Sprintf("givens: d = %d: %v", d, memory))
		return
	}
	assert.NoError(t, read)
	assert.NoError(t, drawn)
}

// FuzzProductBytes: a product that comes out of any bytes rotates, and gives the bytes again.
func FuzzProductBytes(f *testing.F) {
	f.Add(productBytes(1, 4, 3, 1, 0, 2, 0, 1), true)
	f.Add(productBytes(1, 4, 1<<20, 1, 0, 2, 0, 1), false)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal && len(data) >= 4 {
			data = densetest.Sealed(data[:len(data)-4])
		}
		var p givens.Product[float32]
		if p.UnmarshalBinary(data) != nil {
			return
		}
		if d, _ := p.Dims(); d < 1<<16 {
			p.ApplyTransposedVec(nil, p.ApplyVec(nil, make([]float32, d)))
		}
		again, err := p.MarshalBinary()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data, again))
	})
}

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

// golden says what the seed c gives: the bytes of the product, and checksums of the bits of P·x and
// of PᵀP·x.
func golden[T dense.Float](t *testing.T, c uint64, d, n int) string {
	p, err := givens.RandomProduct[T](d, n, rand.NewPCG(c, c))
	require.NoError(t, err)
	data, err := p.MarshalBinary()
	require.NoError(t, err)
	return fmt.Sprintf("seed=%d d=%d n=%d %T=%s bytes=%s", c, d, n, T(0), bits(p), base64.StdEncoding.EncodeToString(data))
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
// version and on every platform, and that its bytes can be read.
//
//ci:portable
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "products.txt")
	var lines []string
	for i, c := range [][2]int{{1, 0}, {2, 0}, {3, 0}, {10, 0}, {50, 7}, {31, 0}} {
		lines = append(lines, golden[float32](t, uint64(i), c[0], c[1]), golden[float64](t, uint64(i), c[0], c[1]))
	}
	for _, line := range densetest.GoldenLines(t, path, lines, *update) {
		_, encoded, _ := strings.Cut(line, " bytes=")
		data, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		var single givens.Product[float32]
		if single.UnmarshalBinary(data) == nil {
			assert.Contains(t, line, " float32="+bits(&single)+" ")
			continue
		}
		var double givens.Product[float64]
		require.NoError(t, double.UnmarshalBinary(data))
		assert.Contains(t, line, " float64="+bits(&double)+" ")
	}
}
