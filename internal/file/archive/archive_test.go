package archive_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
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
	registry.Register(map[string]any{"Square": square{}, "Group": group{}, "Disc": discRecipe{}}, func(r any) (shape, error) {
		if r, ok := r.(discRecipe); ok {
			if r.Radius < 0 {
				return nil, errNoRadius
			}
			return &disc{r.Radius * r.Radius}, nil
		}
		return r.(shape), nil
	})
}

// ring is a type of pointers with a recipe.
type ring struct{ radius float64 }

type ringRecipe struct{ Outer float64 }

func init() {
	registry.Register(map[string]any{"Ring": ringRecipe{}}, func(r any) (*ring, error) { return &ring{r.(ringRecipe).Outer}, nil })
	registry.RegisterFunc(func(r *ring) (any, error) { return ringRecipe{r.radius}, nil })
}

type embedded struct{ Inner int }

// whole has parts of every sort.
type whole[T dense.Float] struct {
	Number  float64
	Count   int
	Yes     bool
	Vector  []T
	None    []T
	Bytes   []byte `archive:"octets"`
	Indices []int
	Short   []int32
	Words   []uint64
	Labels  []uint32
	Singles []float32
	Matrix  dense.Matrix[T]
	Wide    dense.Matrix[float64]
	Lists   [][]int
	Shape   shape
	NoShape shape
	Ring    *ring
	NoRing  *ring
	Nested  struct{ Deep float64 }
	Source  func() `archive:"-"`
	embedded
}

func example[T dense.Float]() whole[T] {
	w := whole[T]{
		Number: 0.1, Count: -3, Yes: true, Vector: []T{1, T(math.Inf(1))}, Bytes: []byte{0, 255}, Indices: []int{math.MaxInt, math.MinInt}, Short: []int32{math.MinInt32},
		Words: []uint64{1 << 63, 5}, Labels: []uint32{1 << 31}, Singles: []float32{0x1p-149},
		Matrix: dense.Of(2, 2, []T{1, 2, 3, 4}), Wide: dense.Of(1, 2, []float64{1e300, math.Copysign(0, -1)}),
		Lists: [][]int{{1}, nil, {}}, Shape: group{square{2}, &disc{9}, group{}}, Ring: &ring{2}, embedded: embedded{7},
	}
	w.Nested.Deep = 5e-324
	return w
}

func testWhole[T dense.Float](t *testing.T) {
	want := example[T]()
	var file bytes.Buffer
	require.NoError(t, archive.Write[T](&file, "test", "it", want))
	f, err := safetensors.Read(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, "-3", f.Metadata["it.count"])
	assert.Equal(t, "nil", f.Metadata["it.none"])
	assert.Equal(t, "Group", f.Metadata["it.shape"])
	assert.Equal(t, "Disc", f.Metadata["it.shape.terms.1"])
	assert.Equal(t, "3", f.Metadata["it.shape.terms.1.radius"])
	assert.Equal(t, "7", f.Metadata["it.inner"])
	assert.Contains(t, f.Tensors, "it.octets")
	assert.Equal(t, []string{"Ring", "2", "nil"}, []string{f.Metadata["it.ring"], f.Metadata["it.ring.outer"], f.Metadata["it.noRing"]})
	got, err := archive.Read[T, whole[T]](bytes.NewReader(file.Bytes()), "test", "it")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.True(t, math.Signbit(got.Wide.Data[1]))
	data, err := archive.Marshal[T]("test", "it", want)
	require.NoError(t, err)
	assert.Equal(t, file.Bytes(), data)
	got, err = archive.Unmarshal[T, whole[T]](data, "test", "it")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	clear(data)
	assert.Equal(t, want, got, "what is read shares no memory with data")

	// A matrix with gaps is written without them.
	want.Matrix = dense.Matrix[T]{Rows: 2, Cols: 1, Stride: 2, Data: []T{1, 9, 3}}
	file.Reset()
	require.NoError(t, archive.Write[T](&file, "test", "it", want))
	got, err = archive.Read[T, whole[T]](&file, "test", "it")
	require.NoError(t, err)
	assert.Equal(t, dense.Of(2, 1, []T{1, 3}), got.Matrix)
}

func TestWhole(t *testing.T) {
	densetest.Both(t, testWhole[float32], testWhole[float64])
}

func TestWriteErrors(t *testing.T) {
	var file bytes.Buffer
	assert.ErrorIs(t, archive.Write[float64](&file, "test", "it", shape(group{&disc{-1}})), errNoRadius)
	assert.EqualError(t, archive.Write[float64](&file, "test", "it", shape(group{other{}})), "test: it.terms.0 is a archive_test.other, not of this library, and cannot be written")
	assert.Zero(t, file.Len())
	assert.Panics(t, func() { _ = archive.Write[float64](&file, "test", "it", struct{ Number uint }{1}) })
}

type other struct{ square }

func TestReadErrors(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, archive.Write[float64](&file, "test", "it", example[float64]()))
	for _, c := range []struct{ key, value, want string }{
		{"it.count", "9223372036854775808", `metadata: "it.count" is "9223372036854775808", want a whole number`},
		{"it.lists", "4", `tensor "it.lists.3" is missing`},
		{"it.lists", "x", `metadata: "it.lists" is "x", want a number of parts`},
		{"it.shape.terms", "4", `metadata: "it.shape.terms.3" is missing`},
		{"it.shape.terms.1.radius", "-1", "it.shape.terms.1: no radius"},
		{"it.noShape", "nothing", `metadata: "it.noShape" is "nothing", which is unknown`},
		{"it.vector", "nil", `tensor "it.vector" is unknown`},
	} {
		data, err := archive.Changed(file.Bytes(), func(f *safetensors.File) { f.Metadata[c.key] = c.value })
		require.NoError(t, err)
		_, err = archive.Unmarshal[float64, whole[float64]](data, "test", "it")
		assert.EqualError(t, err, "test: "+c.want)
	}
	_, err := archive.Read[float32, whole[float32]](bytes.NewReader(file.Bytes()), "test", "it")
	assert.EqualError(t, err, "test: the file is of float64, want float32")
	_, err = archive.Read[float64, whole[float64]](bytes.NewReader(file.Bytes()), "test", "ring")
	assert.EqualError(t, err, "test: the file is a it, want a ring")
	damaged := bytes.Replace(file.Bytes(), []byte(`"0.1"`), []byte(`"0.2"`), 1)
	_, err = archive.Read[float64, whole[float64]](bytes.NewReader(damaged), "test", "it")
	assert.ErrorContains(t, err, "the file is damaged")
}

func TestDeepValues(t *testing.T) {
	deep := shape(square{1})
	for range 63 {
		deep = group{deep}
	}
	var file bytes.Buffer
	require.NoError(t, archive.Write[float32](&file, "test", "it", deep))
	got, err := archive.Read[float32, shape](&file, "test", "it")
	require.NoError(t, err)
	assert.Equal(t, deep, got)
	assert.EqualError(t, archive.Write[float32](&file, "test", "it", shape(group{deep})), "test: it"+strings.Repeat(".terms.0", 64)+" is more than 64 values deep")
}

func TestRegisterPanics(t *testing.T) {
	make := func(any) (shape, error) { return nil, nil }
	assert.Panics(t, func() { registry.Register(map[string]any{"Square": struct{ X int }{}}, make) }, "one name")
	assert.Panics(t, func() { registry.Register(map[string]any{"Another": square{}}, make) }, "one type")
}
