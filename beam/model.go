package beamfeat

import (
	"archive/zip"
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Model]())
	beam.RegisterCoder(reflect.TypeFor[Model](), encodeModel, decodeModel)
}

var (
	_ encoding.BinaryMarshaler   = Model{}
	_ encoding.BinaryUnmarshaler = (*Model)(nil)
)

// Model is a fitted regression as an element of a PCollection and as a file: what the fit was made
// of. Open makes the fit.
type Model struct {
	Map     []byte        // file of the map, as rff.Write writes it
	Sums    []byte        // ridge.Sums of all rows, as MarshalBinary returns them
	Outputs int           // number of targets of a row
	Options ridge.Options // of the fit
}

// Open returns the fitted model, the same bits wherever the processor and the version of the
// library are the same. T is the type of the elements of the blocks.
//
// An error reports a map or sums that are damaged or of another type. Cost: as ridge.Sums.Fit.
func Open[T dense.Float](m Model) (*ridge.Model[T], error) {
	phi, err := readMap[T](m.Map)
	if err != nil {
		return nil, err
	}
	s, err := ridge.NewSums(phi, m.Outputs)
	if err != nil {
		return nil, err
	}
	if err := s.UnmarshalBinary(m.Sums); err != nil {
		return nil, err
	}
	return s.Fit(m.Options)
}

// The entries of the file of a model.
const (
	modelEntry = "model.json"
	mapEntry   = "map.safetensors"
	sumsEntry  = "sums"
)

// modelVersion is the version of the file of a model.
const modelVersion = 1

// modelHead is the entry model.json.
type modelHead struct {
	Version int
	Outputs int
	Options ridge.Options
}

// MarshalBinary returns the model as a zip file: model.json with the version, the number of outputs
// and the options, map.safetensors with the map, which NumPy can read, and sums. zip files have a
// checksum for each entry.
func (m Model) MarshalBinary() ([]byte, error) {
	head, err := json.Marshal(modelHead{Version: modelVersion, Outputs: m.Outputs, Options: m.Options})
	if err != nil {
		return nil, fmt.Errorf("beamfeat: model: %w", err)
	}
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, e := range []struct {
		name string
		data []byte
	}{{modelEntry, head}, {mapEntry, m.Map}, {sumsEntry, m.Sums}} {
		// Random numbers hardly shrink.
		w, err := archive.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store})
		if err != nil {
			return nil, fmt.Errorf("beamfeat: model: %w", err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("beamfeat: model: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("beamfeat: model: %w", err)
	}
	return file.Bytes(), nil
}

// UnmarshalBinary makes m the model whose file data is. An error names what is missing, damaged or
// of another version, and leaves m as it is. Map and sums are read by Open.
func (m *Model) UnmarshalBinary(data []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("beamfeat: model: %w", err)
	}
	text, err := entry(archive, modelEntry, len(data))
	if err != nil {
		return err
	}
	var head modelHead
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("beamfeat: model: %s: %w", modelEntry, err)
	}
	if head.Version != modelVersion {
		return fmt.Errorf("beamfeat: model of version %d, want %d", head.Version, modelVersion)
	}
	read := Model{Outputs: head.Outputs, Options: head.Options}
	if read.Map, err = entry(archive, mapEntry, len(data)); err != nil {
		return err
	}
	if read.Sums, err = entry(archive, sumsEntry, len(data)); err != nil {
		return err
	}
	*m = read
	return nil
}

// entry returns an entry of a zip file of the given size. Entries are stored as they are: none is
// larger than the file.
func entry(archive *zip.Reader, name string, size int) ([]byte, error) {
	f, err := archive.Open(name)
	if err != nil {
		return nil, fmt.Errorf("beamfeat: model: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(size)+1))
	if err == nil && len(data) > size {
		err = errors.New("longer than the file")
	}
	if err != nil {
		return nil, fmt.Errorf("beamfeat: model: %s: %w", name, err)
	}
	return data, nil
}

func encodeModel(m Model) ([]byte, error) { return m.MarshalBinary() }

func decodeModel(data []byte) (Model, error) {
	var m Model
	return m, m.UnmarshalBinary(data)
}
