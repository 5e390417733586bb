package beamfeat

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/whole"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[writeFn[float32]]())
	beam.RegisterDoFn(reflect.TypeFor[writeFn[float64]]())
	beam.RegisterCoder(reflect.TypeFor[*ridge.Model[float32]](), encodeModel32, decodeModel32)
	beam.RegisterCoder(reflect.TypeFor[*ridge.Model[float64]](), encodeModel64, decodeModel64)
	beam.RegisterCoder(reflect.TypeFor[*components.Model[float32]](), encodeComponents32, decodeComponents32)
	beam.RegisterCoder(reflect.TypeFor[*components.Model[float64]](), encodeComponents64, decodeComponents64)
}

func encodeModel32(m *ridge.Model[float32]) ([]byte, error)           { return encodeModel(m) }
func encodeModel64(m *ridge.Model[float64]) ([]byte, error)           { return encodeModel(m) }
func encodeComponents32(m *components.Model[float32]) ([]byte, error) { return writeMap[float32](m) }
func encodeComponents64(m *components.Model[float64]) ([]byte, error) { return writeMap[float64](m) }
func decodeModel32(data []byte) (*ridge.Model[float32], error)        { return decodeModel[float32](data) }
func decodeModel64(data []byte) (*ridge.Model[float64], error)        { return decodeModel[float64](data) }

func decodeComponents32(data []byte) (*components.Model[float32], error) {
	return decodeComponents[float32](data)
}

func decodeComponents64(data []byte) (*components.Model[float64], error) {
	return decodeComponents[float64](data)
}

func decodeComponents[T dense.Float](data []byte) (*components.Model[T], error) {
	phi, err := readMap[T](data)
	m, _ := phi.(*components.Model[T])
	return m, err
}

func encodeModel[T dense.Float](m *ridge.Model[T]) ([]byte, error) {
	var file bytes.Buffer
	err := m.Write(&file)
	return file.Bytes(), err
}

func decodeModel[T dense.Float](data []byte) (*ridge.Model[T], error) {
	return ridge.ReadModel[T](bytes.NewReader(data))
}

// WriteModel writes the model of a PCollection of one *ridge.Model[T] to a file that
// ridge.ReadModel reads. WriteModel gives the file a temporary name until the file is complete, so
// that no reader sees a partial file, and the Beam runner may repeat the writing. The argument path
// is a path in the file system of the worker that writes the model.
func WriteModel[T dense.Float](s beam.Scope, path string, model beam.PCollection) {
	beam.ParDo0(s.Scope("beamfeat.WriteModel"), &writeFn[T]{Path: path}, model)
}

type writeFn[T dense.Float] struct{ Path string }

func (f *writeFn[T]) ProcessElement(m *ridge.Model[T]) error {
	if err := whole.Write(f.Path, m.Write); err != nil {
		return fmt.Errorf("beamfeat: %w", err)
	}
	return nil
}

func writeMap[T dense.Float](phi rff.Map[T]) ([]byte, error) {
	var file bytes.Buffer
	if err := rff.Write(&file, phi); err != nil {
		return nil, fmt.Errorf("beamfeat: map: %w", err)
	}
	return file.Bytes(), nil
}

func readMap[T dense.Float](file []byte) (rff.Map[T], error) {
	phi, err := rff.Read[T](bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("beamfeat: map: %w", err)
	}
	return phi, nil
}
