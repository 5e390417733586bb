package files

import (
	"bytes"
	"context"
	"encoding"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/seed-feabd252/randfeat/components" // its maps are read by rff.Read
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
	"github.com/seed-feabd252/randfeat/safetensors"
	"github.com/seed-feabd252/randfeat/table"
)

// file is a file, and the reader of its type. The reader uses what it has read, and writes it
// again.
type file struct {
	data []byte
	read func(data []byte) (again []byte, err error)
}

// binary is a type whose files are bytes.
type binary interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// bytesOf returns the file of m. The reader replaces into, and checks that an error leaves it.
func bytesOf[M binary](m, into M, use func(m M)) file {
	return file{must.Have(m.MarshalBinary()), func(data []byte) ([]byte, error) {
		before := must.Have(into.MarshalBinary())
		err := into.UnmarshalBinary(data)
		if err != nil && !bytes.Equal(before, must.Have(into.MarshalBinary())) {
			panic("an error has changed the value")
		}
		if err != nil {
			return nil, err
		}
		use(into)
		return into.MarshalBinary()
	}}
}

// readerOf returns a reader of files of a V.
func readerOf[V any](read func(r io.Reader) (V, error), use func(v V), write func(w io.Writer, v V) error) func(data []byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		v, err := read(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		use(v)
		var again bytes.Buffer
		err = write(&again, v)
		return again.Bytes(), err
	}
}

// point returns a point of R^d, or false if d is large.
func point[T dense.Float](d, _ int) (dense.Matrix[T], bool) {
	if d >= 1<<12 {
		return dense.Matrix[T]{}, false
	}
	return densetest.Filled[T](1, d, 0.5), true
}

// filesOf returns files of T of every type, by names.
func filesOf[T dense.Float](t testing.TB) map[string]file {
	src := func() rand.Source { return rand.NewPCG(1, 2) }
	none := dense.Matrix[T]{}
	readMap := readerOf(rff.Read[T], func(m rff.Map[T]) {
		if x, ok := point[T](m.Dims()); ok {
			m.Transform(none, x)
		}
	}, rff.Write[T])
	readProjection := readerOf(orf.Read[T], func(p orf.Projection[T]) {
		if x, ok := point[T](swap(p.Shape())); ok {
			p.Project(none, x)
		}
	}, orf.Write[T])
	readModel := readerOf(ridge.ReadModel[T], func(m *ridge.Model[T]) {
		if x, ok := point[T](m.Map().Dims()); ok {
			m.Predict(x)
		}
	}, func(w io.Writer, m *ridge.Model[T]) error { return m.Write(w) })
	readClassifier := readerOf(ridge.ReadClassifier[T], func(c *ridge.Classifier[T]) {
		if x, ok := point[T](c.Map().Dims()); ok {
			c.Probabilities(none, x)
		}
	}, func(w io.Writer, c *ridge.Classifier[T]) error { return c.Write(w) })

	row := must.Have(table.New([]string{"day", "size", "kind", "sex"}, [][]string{{"2024-01-01", "", "b", "f"}}))
	readTable := readerOf(table.ReadModel, func(m *table.Model) { _, _ = m.Predict(row, 0.05, 0.95) },
		func(w io.Writer, m *table.Model) error { return m.Write(w) })

	readCodes := readerOf(quantise.Read[T], func(c quantise.Codes[T]) {
		if x, ok := point[T](c.Quantiser().Dims()); ok {
			c.Search(make([]quantise.Hit, 2), c.Quantiser().Prepare(nil, x.Row(0), quantise.SquaredDistance, 0))
		}
	}, func(w io.Writer, c quantise.Codes[T]) error { return c.Write(w) })

	all := map[string]file{}
	for name, e := range map[string]orf.Ensemble{"IID": orf.IID{}, "Hadamard": orf.Hadamard{FixedLength: true}, "Givens": orf.Givens{}} {
		var b bytes.Buffer
		require.NoError(t, orf.Write(&b, must.Have(orf.Draw[T](e, 5, 3, src()))))
		all[name] = file{b.Bytes(), readProjection}
	}

	phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, must.Have(orf.Draw[T](orf.Hadamard{}, 3, 2, src()))))
	rows := ridge.Block[T]{X: densetest.Gapped[T](1, 20, 2), Y: densetest.Gapped[T](2, 20, 1)}
	sums, fresh := must.Have(ridge.NewSums(phi, 1)), must.Have(ridge.NewSums(phi, 1))
	require.NoError(t, sums.Add(rows.X, rows.Y, nil))
	all["sums"] = bytesOf(sums, fresh, func(s *ridge.Sums[T]) { _, _ = s.Fit(context.Background(), ridge.Options{}) })
	plain := must.Have(quantise.New[T](2, quantise.Options{}, src()))
	for name, q := range map[string]quantise.Quantiser[T]{
		"codes": plain, "codes about centres": must.Have(plain.WithCentres(rows.X.RowRange(0, 2))),
		"codes of Learn": must.Have(quantise.Learn(t.Context(), rows.X, quantise.Options{Bits: 2}, src())),
	} {
		var b bytes.Buffer
		require.NoError(t, must.Have(q.Encode(context.Background(), rows.X.RowRange(0, 3))).Write(&b))
		all[name] = file{b.Bytes(), readCodes}
	}
	var b bytes.Buffer
	fit := must.Have(kernelridge.Fit(context.Background(), kernels.Gaussian{}, rows, kernelridge.Options{Ratio: 0.1, Probes: 2, Src: src()}))
	require.NoError(t, fit.Model.Write(&b))
	all["kernel ridge"] = file{b.Bytes(), readModel}
	all["index of numbers"] = indexOf[T, int64](t, index.Options[T]{Measure: quantise.SquaredDistance, KeepRows: true}, -1, 0, math.MaxInt64)
	all["index of texts"] = indexOf[T](t, index.Options[T]{Bits: 2}, "", "\xff\x00", "a", "b", "c", "d", "e", "f")
	for rule := range recurrence.GatedDelta + 1 {
		r := must.Have(recurrence.New[T](recurrence.Options{Heads: 2, KeyHeads: 1, Rule: rule}))
		state, fresh := must.Have(r.NewState(3, 2)), must.Have(r.NewState(3, 2))
		x := recurrence.Tokens[T]{K: densetest.Filled[T](2, 3, 0.5), V: densetest.Filled[T](2, 2, 2)}
		if rule == recurrence.Gated {
			x.Decay = densetest.Filled[T](2, 3, -1)
		}
		if rule == recurrence.GatedDelta {
			x.Decay = densetest.Filled[T](2, 1, -1)
		}
		if rule == recurrence.Delta || rule == recurrence.GatedDelta {
			x.Beta = densetest.Filled[T](2, 1, 0.5)
		}
		state.Append(x)
		all["state of the "+rule.String()+" rule"] = bytesOf(state, fresh, func(s recurrence.State[T]) { s.Attend(none, densetest.Filled[T](1, 6, 1)) })
	}
	for name, a := range map[string]interface {
		NewState(d, dv int) (*performer.State[T], error)
	}{
		"state of linear attention": must.Have(performer.NewLinear(must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, must.Have(orf.Draw[T](orf.IID{}, 4, 3, src())))), performer.LinearOptions{})),
		"state of exact attention":  must.Have(performer.NewExact[T](performer.ExactOptions{})),
		"state in codes":            must.Have(performer.NewExact[T](performer.ExactOptions{KeyBits: 3, ValueBits: 16, Window: 9, Sinks: 2})),
	} {
		state, fresh := must.Have(a.NewState(3, 2)), must.Have(a.NewState(3, 2))
		tokens := 3
		if name == "state in codes" {
			tokens = 65 // a closed segment
		}
		state.Append(densetest.Filled[T](tokens, 3, 0.5), densetest.Filled[T](tokens, 2, 2))
		all[name] = bytesOf(state, fresh, func(s *performer.State[T]) {
			s.Clone().Step(none, densetest.Filled[T](1, 3, 1), densetest.Filled[T](1, 3, 1), densetest.Filled[T](1, 2, 1))
		})
	}

	// Golden files are of float64, and so are all files of tables.
	var width T
	if _, double := any(width).(float64); !double {
		return all
	}
	for _, folder := range []string{"rff", "components", "ridge", "table"} {
		for _, path := range must.Have(filepath.Glob("../../" + folder + "/testdata/*.safetensors")) {
			read := readMap
			switch name := filepath.Base(path); name {
			case "Model.safetensors":
				read = readModel
			case "Classifier.safetensors":
				read = readClassifier
			case "Numbers.safetensors", "Classes.safetensors":
				read = readTable
			}
			all[path] = file{must.Have(os.ReadFile(path)), read}
		}
	}
	return all
}

// indexOf returns the file of an index of two numbers a row, and its reader.
func indexOf[T dense.Float, K index.ID](t testing.TB, o index.Options[T], ids ...K) file {
	x, rows := must.Have(index.New[K](2, o, rand.NewPCG(1, 2))), dense.New[T](len(ids), 2)
	for i := range rows.Data {
		rows.Data[i] = T(i)
	}
	require.NoError(t, x.Add(context.Background(), ids, rows))
	var b bytes.Buffer
	require.NoError(t, x.Write(&b))
	return file{b.Bytes(), readerOf(index.Read[K, T], func(x index.Index[K, T]) {
		_, _ = x.Search(context.Background(), []T{1, 2}, 3, nil)
		_, _ = x.Within(context.Background(), []T{1, 2}, 3, nil)
	}, func(w io.Writer, x index.Index[K, T]) error { return x.Write(w) })}
}

func swap(a, b int) (int, int) { return b, a }

// TestEveryFile: what is read is written as the same bytes. A file that is cut off or has a wrong
// byte, version or kind is an error.
//
//ci:portable
func TestEveryFile(t *testing.T) {
	densetest.Both(t, testEveryFile[float32], testEveryFile[float64])
}

func testEveryFile[T dense.Float](t *testing.T) {
	all := filesOf[T](t)
	step := 3
	if testing.Short() {
		step = 11 // emulators run this
	}
	for name, f := range all {
		again, err := f.read(f.data)
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(f.data, again), "%s is written as something else", name)
		for at := 0; at < len(f.data); at += step + at/256 {
			_, err := f.read(f.data[:at])
			require.Error(t, err, "%d bytes of %s", at, name)
			damaged := slices.Clone(f.data)
			damaged[at] ^= 1 << (at % 8)
			_, err = f.read(damaged)
			require.Error(t, err, "byte %d of %s", at, name)
		}
		_, err = f.read(append(slices.Clone(f.data), 0))
		require.Error(t, err, name)
		for key, want := range map[string]string{
			"format":  `metadata: format "x", want "randfeat"`,
			"version": `the file has version "x" of the format, this package reads version "3" alone`,
			"kind":    "the file is a x, want a ",
			"type":    "the file is of x, want float",
		} {
			_, err := f.read(must.Have(archive.Changed(f.data, func(f *safetensors.File) { f.Metadata[key] = "x" })))
			require.ErrorContains(t, err, want, name)
		}
	}
}

// TestWidths: a reader refuses files of the other element type.
//
//ci:portable
func TestWidths(t *testing.T) {
	single, double := filesOf[float32](t), filesOf[float64](t)
	for name, f := range single {
		if strings.HasPrefix(name, "codes") {
			continue // which serve both element types
		}
		_, narrow := double[name].read(f.data)
		_, wide := f.read(double[name].data)
		require.ErrorContains(t, narrow, "the file is of float32, want float64", name)
		require.ErrorContains(t, wide, "the file is of float64, want float32", name)
	}
}

// TestHostileFilesTakeLittleMemory makes every number of a file large, and every array empty. No
// reader panics, and none allocates by the number.
//
//ci:portable
func TestHostileFilesTakeLittleMemory(t *testing.T) {
	for name, f := range filesOf[float64](t) {
		file := must.Have(safetensors.View(f.data))
		for key, value := range file.Metadata {
			if _, err := strconv.Atoi(value); err != nil || !strings.Contains(key, ".") {
				continue
			}
			for _, number := range []string{"0", "-1", "100000000", "2147483647", strconv.Itoa(int(^uint(0) >> 1)), strconv.Itoa(-int(^uint(0)>>1) - 1), "99999999999999999999"} {
				data := must.Have(archive.Changed(f.data, func(f *safetensors.File) { f.Metadata[key] = number }))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, _ = f.read(data)
				runtime.ReadMemStats(&after)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%s: %s = %s", name, key, number)
			}
		}
		for key, tensor := range file.Tensors {
			again, err := f.read(must.Have(archive.Changed(f.data, func(f *safetensors.File) {
				f.Tensors[key] = safetensors.Tensor{DType: tensor.DType, Shape: make([]int, len(tensor.Shape))}
			})))
			require.True(t, len(tensor.Data) == 0 || err != nil || len(again) < len(f.data), "%s without %s", name, key)
		}
	}
}

// FuzzFiles reads files of which one text and some bytes of one tensor are changed, with a checksum
// that fits. What comes out can be used, and is written as bytes that give themselves again.
func FuzzFiles(f *testing.F) {
	all := filesOf[float64](f)
	names := slices.Sorted(maps.Keys(all))
	for i := range names {
		f.Add(uint8(i), uint8(i), "2", uint8(i), uint16(8*i), []byte{1})
	}
	f.Add(uint8(0), uint8(255), "", uint8(0), uint16(7), []byte{0xf0, 0x7f})
	f.Fuzz(func(t *testing.T, which, key uint8, value string, tensor uint8, at uint16, patch []byte) {
		if !utf8.ValidString(value) {
			return // no safetensors file has it
		}
		one := all[names[int(which)%len(names)]]
		again, err := one.read(must.Have(archive.Changed(one.data, func(f *safetensors.File) {
			if keys := slices.Sorted(maps.Keys(f.Metadata)); int(key) < len(keys) {
				f.Metadata[keys[key]] = value
			}
			if names := slices.Sorted(maps.Keys(f.Tensors)); int(tensor) < len(names) {
				data := f.Tensors[names[tensor]].Data
				copy(data[min(int(at), len(data)):], patch)
			}
		})))
		if err == nil {
			third, err := one.read(again)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(again, third), fmt.Sprint(value))
		}
	})
}

// FuzzBytes gives any bytes to every reader.
func FuzzBytes(f *testing.F) {
	all := filesOf[float64](f)
	for _, one := range all {
		f.Add(one.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, one := range all {
			if again, err := one.read(data); err == nil {
				assert.True(t, bytes.Equal(data, again) || len(again) > 0, name)
			}
		}
	})
}
