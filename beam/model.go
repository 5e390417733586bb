package beamfeat

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/whole"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[writeFn[float32]]())
	beam.RegisterDoFn(reflect.TypeFor[writeFn[float64]]())
}

// A model travels as its file.
func encodeModel32(m *ridge.Model[float32]) ([]byte, error)    { return encodeModel(m) }
func encodeModel64(m *ridge.Model[float64]) ([]byte, error)    { return encodeModel(m) }
func decodeModel32(data []byte) (*ridge.Model[float32], error) { return decodeModel[float32](data) }
func decodeModel64(data []byte) (*ridge.Model[float64], error) { return decodeModel[float64](data) }

func encodeModel[T dense.Float](m *ridge.Model[T]) ([]byte, error) {
	var file bytes.Buffer
	err := m.Write(&file)
	return file.Bytes(), err
}

func decodeModel[T dense.Float](data []byte) (*ridge.Model[T], error) {
	return ridge.ReadModel[T](bytes.NewReader(data))
}

// WriteModel writes the model of a PCollection of one *ridge.Model[T] to a file, which
// ridge.ReadModel reads. The file has another name until it is complete, so that nobody reads half
// of it and a repeated bundle does no harm. The folder is one of the worker that writes.
func WriteModel[T dense.Float](s beam.Scope, path string, model beam.PCollection) {
	beam.ParDo0(s.Scope("beamfeat.WriteModel"), &writeFn[T]{Path: path}, model)
}

// writeFn writes a model to a file.
type writeFn[T dense.Float] struct{ Path string }

func (f *writeFn[T]) ProcessElement(m *ridge.Model[T]) error {
	if err := whole.Write(f.Path, m.Write); err != nil {
		return fmt.Errorf("beamfeat: %w", err)
	}
	return nil
}
