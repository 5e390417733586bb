package beamfeat

import (
	"bytes"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// writeMap returns the file of a map.
func writeMap[T dense.Float](phi rff.Map[T]) ([]byte, error) {
	var file bytes.Buffer
	if err := rff.Write(&file, phi); err != nil {
		return nil, fmt.Errorf("beamfeat: map: %w", err)
	}
	return file.Bytes(), nil
}

// readMap returns the map of a file.
func readMap[T dense.Float](file []byte) (rff.Map[T], error) {
	phi, err := rff.Read[T](bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("beamfeat: map: %w", err)
	}
	return phi, nil
}
