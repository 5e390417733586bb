package archive_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// shape is an interface with kinds of all sorts: a struct, a slice, and one that is Made.
type shape interface{ area() float64 }

type square struct{ Side float64 }

func (s square) area() float64 { return s.Side * s.Side }

type group []shape

func (g group) area() (sum float64) {
	for _, s := range g {
		sum += s.area()
	}
	return sum
}

// disc is written as its recipe.
type disc struct{ squared float64 }

type discRecipe struct{ Radius float64 }

var errNoRadius = errors.New("no radius")

func (d *disc) area() float64 { return math.Pi * d.squared }

func (d *disc) Recipe() (any, error) {
	if d.squared < 0 {
		return nil, errNoRadius
	}
	return discRecipe{math.Sqrt(d.squared)}, nil
}

func init() {
	archive.Register(map[string]any{"Square": square{}, "Group": group{}, "Disc": discRecipe{}}, func(r any) (shape, error) {
		if r, ok := r.(discRecipe); ok {
			if r.Radius < 0 {
				return nil, errNoRadius
			}
			return &disc{r.Radius * r.Radius}, nil
		}
		return r.(shape), nil
	})
}

type embedded struct{ Inner int }

// whole has parts of every sort.
type whole[T dense.Float] struct {
	Number  float64
	Count   int
	Yes     bool
	Vector  []T
	None    []T
	Bytes   []int8 `archive:"octets"`
	Indices []int
	Words   []uint64
	Labels  []uint32
	Singles []float32
	Matrix  dense.Matrix[T]
	Wide    dense.Matrix[float64]
	Array   archive.Array[T]
	Cube    archive.Array[int]
	Lists   [][]int
	Shape   shape
	NoShape shape
	Nested  struct{ Deep float64 }
	Source  func() `archive:"-"`
	embedded
}

func example[T dense.Float]() whole[T] {
	w := whole[T]{
		Number: 0.1, Count: -3, Yes: true, Vector: []T{1, T(math.Inf(1))}, Bytes: []int8{-128, 127}, Indices: []int{math.MaxInt, math.MinInt},
		Words: []uint64{1 << 63, 5}, Labels: []uint32{1 << 31}, Singles: []float32{0x1p-149},
		Matrix: dense.Of(2, 2, []T{1, 2, 3, 4}), Wide: dense.Of(1, 2, []float64{1e300, math.Copysign(0, -1)}),
		Array: archive.Array[T]{Shape: []int{2, 1, 1}, Data: []T{5, 6}}, Cube: archive.Array[int]{Shape: []int{1, 0, 2}, Data: []int{}},
		Lists: [][]int{{1}, nil, {}}, Shape: group{square{2}, &disc{9}, group{}}, embedded: embedded{7},
	}
	w.Nested.Deep = 5e-324
	return w
}

func testWhole[T dense.Float](t *testing.T) {
	want := example[T]()
	var file bytes.Buffer
	require.NoError(t, archive.Write[T](&file, "it", want))
	f, err := safetensors.Read(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, "-3", f.Metadata["it.count"])
	assert.Equal(t, "nil", f.Metadata["it.none"])
	assert.Equal(t, "Group", f.Metadata["it.shape"])
	assert.Equal(t, "Disc", f.Metadata["it.shape.terms.1"])
	assert.Equal(t, "3", f.Metadata["it.shape.terms.1.radius"])
	assert.Equal(t, "7", f.Metadata["it.inner"])
	assert.Contains(t, f.Tensors, "it.octets")
	assert.Equal(t, []int{2, 1, 1}, f.Tensors["it.array"].Shape)
	got, err := archive.Read[T, whole[T]](bytes.NewReader(file.Bytes()), "it")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.True(t, math.Signbit(got.Wide.Data[1]))
	for skip := range 8 { // numbers in memory lie at multiples of their size
		data := append(make([]byte, skip), file.Bytes()...)[skip:]
		got, err = archive.View[T, whole[T]](data, "it")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = archive.View[T, whole[T]](file.Bytes()[:file.Len()-1], "it")
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	// A matrix with gaps is written without them.
	want.Matrix = dense.Matrix[T]{Rows: 2, Cols: 1, Stride: 2, Data: []T{1, 9, 3}}
	file.Reset()
	require.NoError(t, archive.Write[T](&file, "it", want))
	got, err = archive.Read[T, whole[T]](&file, "it")
	require.NoError(t, err)
	assert.Equal(t, dense.Of(2, 1, []T{1, 3}), got.Matrix)
}

func TestWhole(t *testing.T) {
	densetest.Both(t, testWhole[float32], testWhole[float64])
}

func TestWriteErrors(t *testing.T) {
	var file bytes.Buffer
	assert.ErrorIs(t, archive.Write[float64](&file, "it", shape(group{&disc{-1}})), errNoRadius)
	assert.EqualError(t, archive.Write[float64](&file, "it", shape(group{other{}})), "it.terms.0 is a archive_test.other, not of this library, and cannot be written")
	assert.EqualError(t, archive.Write[float64](&file, "it", archive.Array[float64]{Shape: []int{2}, Data: []float64{1}}),
		`safetensors: tensor "it": 8 bytes of data, want 16 for dtype F64 and shape [2]`)
	assert.Zero(t, file.Len())
	assert.Panics(t, func() { _ = archive.Write[float64](&file, "it", struct{ Number uint }{1}) })
}

type other struct{ square }

func TestReadErrors(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, archive.Write[float64](&file, "it", example[float64]()))
	for _, c := range []struct{ key, value, want string }{
		{"it.count", "9223372036854775808", `metadata: "it.count" is "9223372036854775808", want a whole number`},
		{"it.lists", "4", `tensor "it.lists.3" is missing`},
		{"it.lists", "x", `metadata: "it.lists" is "x", want a number of parts`},
		{"it.shape.terms", "4", `metadata: "it.shape.terms.3" is missing`},
		{"it.shape.terms.1.radius", "-1", "it.shape.terms.1: no radius"},
		{"it.noShape", "nothing", `metadata: "it.noShape" is "nothing", which is unknown`},
		{"it.vector", "nil", `tensor "it.vector" is unknown`},
	} {
		f, err := safetensors.Read(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		f.Metadata[c.key] = c.value
		archive.Seal(f)
		var changed bytes.Buffer
		require.NoError(t, safetensors.Write(&changed, f))
		_, err = archive.Read[float64, whole[float64]](&changed, "it")
		assert.EqualError(t, err, c.want)
	}
	_, err := archive.Read[float32, whole[float32]](bytes.NewReader(file.Bytes()), "it")
	assert.EqualError(t, err, "the file is of float64, want float32")
	_, err = archive.Read[float64, whole[float64]](bytes.NewReader(file.Bytes()), "that")
	assert.EqualError(t, err, `metadata: "that.number" is missing`)
	damaged := bytes.Replace(file.Bytes(), []byte(`"0.1"`), []byte(`"0.2"`), 1)
	_, err = archive.Read[float64, whole[float64]](bytes.NewReader(damaged), "it")
	assert.ErrorContains(t, err, "the file is damaged")
}

func TestDeepValues(t *testing.T) {
	deep := shape(square{1})
	for range 63 {
		deep = group{deep}
	}
	var file bytes.Buffer
	require.NoError(t, archive.Write[float32](&file, "it", deep))
	got, err := archive.Read[float32, shape](&file, "it")
	require.NoError(t, err)
	assert.Equal(t, deep, got)
	assert.EqualError(t, archive.Write[float32](&file, "it", shape(group{deep})), "it"+strings.Repeat(".terms.0", 64)+" is more than 64 values deep")
}

func TestRegisterPanics(t *testing.T) {
	make := func(any) (shape, error) { return nil, nil }
	assert.Panics(t, func() { archive.Register(map[string]any{"Square": struct{ X int }{}}, make) }, "one name")
	assert.Panics(t, func() { archive.Register(map[string]any{"Another": square{}}, make) }, "one type")
}
