package npy

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
)

// ReadZip returns the elements and the shape of an array of a file .npz, which numpy.savez or
// numpy.savez_compressed has written, where name is the keyword of the array. ReadZip converts
// elements to E as [ReadFile] does. The error of ReadZip names all arrays in the file if none has
// the given name. As NumPy does, ReadZip reads the last of several arrays of the name. Unlike the
// format .npy, the format .npz has checksums.
//
// ReadZip holds the bytes of the array in memory beside the elements; a hostile file may decompress
// to a thousand times the bytes of the file. To write a file .npz, [Write] each array to an entry
// name.npy of a zip.Writer of archive/zip.
func ReadZip[E dense.Element](path, name string) (elements []E, shape []int, err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	defer z.Close()
	i := len(z.File) - 1
	for i >= 0 && z.File[i].Name != name+".npy" {
		i--
	}
	if i < 0 {
		var names []string
		for _, f := range z.File {
			names = append(names, strings.TrimSuffix(f.Name, ".npy"))
		}
		return nil, nil, fmt.Errorf("npy: %s: there is no array %q, but %q", path, name, names)
	}
	var data []byte
	array, err := z.File[i].Open()
	if err == nil {
		defer array.Close()
		data, err = io.ReadAll(array)
	}
	var r *Reader
	if err == nil {
		r, err = newReader(bytes.NewReader(data), int64(len(data)))
	}
	path += "(" + name + ")"
	if err != nil {
		return nil, nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	return readAll[E](r, path)
}
