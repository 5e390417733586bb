package rff

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Write writes a map as a safetensors file, which NumPy reads: what was drawn and fitted, and the
// parameters. All maps of this package can be written, with their frequencies, the maps that they
// are made of, and their partners. The exceptions are maps of your own functions (New) and maps
// that contain a map, a projection or a kernel of another package. Nothing is written in such a
// case.
//
// The arrays and the parameters have the names of the arguments of the constructor. For example a
// map of Gaussian has the metadata map: Gaussian, map.lengthScale: 0.75 and map.w: Explicit, and the
// tensor map.w.frequencies (m×d); package documentation says more under Files.
//
// The error reports a nil map, a part that cannot be written, and the errors of w.
func Write[T dense.Float](w io.Writer, m Map[T]) error {
	if m == nil {
		return errors.New("rff: m is nil, want a map")
	}
	if err := archive.Write[T](w, "map", m); err != nil {
		return fmt.Errorf("rff: %w", err)
	}
	return nil
}

// Read reads a map that Write wrote, to the end of r. Structured frequencies keep their structure, so
// the map is as fast as it was. It has the interfaces and the law of the map that was written, and
// its results have the same bits, on the same processor and version of this package.
//
// The error names what is missing, damaged or unknown in the file, a file of the other element type
// and one of a later version, and reports the errors of r. Memory use is bounded by the bytes that
// arrive, whatever the file claims.
func Read[T dense.Float](r io.Reader) (Map[T], error) {
	m, err := archive.Read[T, Map[T]](r, "map")
	if err == nil && m == nil {
		err = errors.New("map is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("rff: %w", err)
	}
	return m, nil
}

// pointsFit reports a kernel that has a part for points of another dimension than d. Such a kernel
// panics.
func pointsFit(k kernels.Kernel, d int) error {
	var parts []kernels.Kernel
	switch k := k.(type) {
	case kernels.Sum:
		parts = k
	case kernels.Product:
		parts = k
	case kernels.Scaled:
		return pointsFit(k.K, d)
	case kernels.Pullback:
		if k.A.Cols != d {
			return fmt.Errorf("rff: k is a kernel of points of R^%d, want R^%d", k.A.Cols, d)
		}
		return pointsFit(k.K, k.A.Rows)
	}
	for _, part := range parts {
		if err := pointsFit(part, d); err != nil {
			return err
		}
	}
	return nil
}
