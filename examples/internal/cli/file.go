package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// temporary holds the temporary folders that are there.
var temporary = struct {
	sync.Mutex
	folders map[string]bool
}{folders: make(map[string]bool)}

// Temporary makes a folder in dir, as os.MkdirTemp does. A signal that ends the program removes the
// folder as well.
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
		_ = os.RemoveAll(folder) // nothing that the user asked for
		delete(temporary.folders, folder)
	}, nil
}

func isTemporary(folder string) bool {
	temporary.Lock()
	defer temporary.Unlock()
	return temporary.folders[folder]
}

// removeTemporary removes all temporary folders, and keeps the lock so that none comes after them.
func removeTemporary() {
	temporary.Lock()
	for folder := range temporary.folders {
		// Somebody may still write.
		for tries := 0; os.RemoveAll(folder) != nil && tries < 100; tries++ {
		}
	}
}

// Save has save write a file under another path, and moves the file to path when it is complete, so
// that path never has a part of a file. What is not a file of the disk, /dev/null say, is written
// in place. The empty path is for no file. Save says on w where what was written is.
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

// Replace is Save without a word.
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

// Write writes a file as Replace does.
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

// inPlace reports whether a path that os.Stat has looked at is no file of a disk.
func inPlace(info os.FileInfo, err error) bool {
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}
