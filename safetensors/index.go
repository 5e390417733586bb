package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// ReadIndex reads a model in several files, which an index such as model.safetensors.index.json
// names. The field weight_map of the index maps the name of each tensor to a file in or below the
// folder of the index. ReadIndex reads the files one after another, each as [Read] does. The File
// that ReadIndex returns has nil Metadata, and only those tensors that the index names.
//
//	f, err := safetensors.ReadIndex(os.DirFS(folder), "model.safetensors.index.json")
//
// The error of ReadIndex names the file at fault, and a tensor that the index names and the file
// lacks. ReadIndex returns an error for a file name that begins with "/" or has an element "..".
func ReadIndex(fsys fs.FS, name string) (*File, error) {
	if fsys == nil {
		return nil, errors.New("safetensors: fsys is nil, want a file system")
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", name, err)
	}
	if index.Map == nil {
		return nil, fmt.Errorf("safetensors: %s: weight_map is missing", name)
	}
	tensors := make(map[string][]string) // by file
	for _, tensor := range slices.Sorted(maps.Keys(index.Map)) {
		file := index.Map[tensor]
		tensors[file] = append(tensors[file], tensor)
	}
	all := &File{Tensors: make(map[string]Tensor, len(index.Map))}
	for _, file := range slices.Sorted(maps.Keys(tensors)) {
		if !fs.ValidPath(file) {
			return nil, fmt.Errorf("safetensors: %s: tensor %.80q is in %.80q, want a file below the folder", name, tensors[file][0], file)
		}
		f, err := readFile(fsys, path.Join(path.Dir(name), file))
		if err != nil {
			return nil, err
		}
		for _, tensor := range tensors[file] {
			t, ok := f.Tensors[tensor]
			if !ok {
				return nil, fmt.Errorf("safetensors: %s: tensor %.80q is not in %s", name, tensor, file)
			}
			all.Tensors[tensor] = t
		}
	}
	return all, nil
}

func readFile(fsys fs.FS, name string) (*File, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	defer file.Close()
	f, err := parse(streamSource{file})
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", name, err)
	}
	return f, nil
}
