package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// temporary holds the temporary folders that exist.
var temporary = struct {
	sync.Mutex
	folders map[string]bool
}{folders: make(map[string]bool)}

// Temporary makes a folder in dir, as os.MkdirTemp does. A signal that ends the program removes the
// folder, and so does remove.
func Temporary(dir, pattern string) (folder string, remove func(), err error) {
	temporary.Lock()
	defer temporary.Unlock()
	if folder, err = os.MkdirTemp(dir, pattern); err != nil {
		return "", nil, err
	}
	temporary.folders[folder] = true
	return folder, func() {
		temporary.Lock()
		defer temporary.Unlock()
		_ = os.RemoveAll(folder) // the user has not asked for anything in it
		delete(temporary.folders, folder)
	}, nil
}

func isTemporary(folder string) bool {
	temporary.Lock()
	defer temporary.Unlock()
	return temporary.folders[folder]
}

// removeTemporary removes all temporary folders, and keeps the lock so that no folder comes after
// them.
func removeTemporary() {
	temporary.Lock()
	for folder := range temporary.folders {
		// Other goroutines may still write.
		for tries := 0; os.RemoveAll(folder) != nil && tries < 100; tries++ {
		}
	}
}

// Save replaces a file as Replace does and prints its path on w, unless the path is empty. what
// describes the file.
func Save(w io.Writer, what, path string, save func(path string) error) error {
	if path == "" {
		return nil
	}
	if err := Replace(path, save); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe %s is in %s\n", what, path)
	return err
}

// Replace calls save with a path in a temporary folder, and moves the complete file to path, so that
// path never has a part of a file. A file that is not regular, such as /dev/null, is written in
// place.
func Replace(path string, save func(path string) error) error {
	if inPlace(os.Stat(path)) || isTemporary(filepath.Dir(path)) {
		return save(path)
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	folder, remove, err := Temporary(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	defer remove()
	part := filepath.Join(folder, filepath.Base(path))
	if err := save(part); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), part, path))
	}
	return os.Rename(part, path)
}

// Write creates or replaces a file by what write writes, as Replace does.
func Write(path string, write func(io.Writer) error) error {
	return Replace(path, func(path string) error {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		err = write(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// inPlace reports whether os.Stat has found a file that is neither regular nor a folder.
func inPlace(info os.FileInfo, err error) bool {
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Folder makes the folder of a flag, and returns an error unless files can be made in it.
func Folder(flag, folder string) error {
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		err = writable(folder)
	}
	if err != nil {
		return fmt.Errorf("-%s %q: %w, want a folder that can be made and written", flag, folder, cause(err))
	}
	return nil
}

// writable returns an error unless files can be made in a folder.
func writable(folder string) error {
	_, remove, err := Temporary(folder, ".writable")
	if err != nil {
		return cause(err)
	}
	remove()
	return nil
}

// cause returns the error of the system without the path, which the caller adds.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
