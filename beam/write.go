package beamfeat

import (
	"encoding"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[writeFn[Model]]())
}

// WriteModel writes the model of a PCollection of one to a file, which Model.UnmarshalBinary reads.
// The file has another name until it is complete, so that nobody reads half of it and a repeated
// bundle does no harm. The folder is one of the worker that writes.
func WriteModel(s beam.Scope, path string, model beam.PCollection) {
	beam.ParDo0(s.Scope("beamfeat.WriteModel"), &writeFn[Model]{Path: path}, model)
}

// writeFn writes an element to a file.
type writeFn[E encoding.BinaryMarshaler] struct{ Path string }

func (f *writeFn[E]) ProcessElement(e E) error {
	data, err := e.MarshalBinary()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(f.Path), filepath.Base(f.Path)+".*")
	if err != nil {
		return fmt.Errorf("beamfeat: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), f.Path)
	}
	if err != nil {
		return fmt.Errorf("beamfeat: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
