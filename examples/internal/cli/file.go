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

// temporary holds the existing temporary folders.
var temporary = struct {
	sync.Mutex
	folders map[string]bool
}{folders: make(map[string]bool)}

// Temporary creates a folder in dir, as os.MkdirTemp does. remove removes the folder, and so does a
// signal that ends the program.
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
		_ = os.RemoveAll(folder) // no result is lost
		delete(temporary.folders, folder)
	}, nil
}

func isTemporary(folder string) bool {
	temporary.Lock()
	defer temporary.Unlock()
	return temporary.folders[folder]
}

// removeTemporary removes all temporary folders. It keeps the lock, so that no further folder is
// created.
func removeTemporary() {
	temporary.Lock()
	for folder := range temporary.folders {
		// Other goroutines may still write.
		for tries := 0; os.RemoveAll(folder) != nil && tries < 100; tries++ {
		}
	}
}

// Save replaces a file as Replace does, and prints its description, what, and its path on w. Save
// does nothing for an empty path.
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

// Replace calls save with a path in a temporary folder and then moves the file to path, so path
// never has an incomplete file. If path is not a regular file, such as /dev/null, Replace calls
// save with path.
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

// Write replaces a file, as Replace does, with the output of write.
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

// inPlace reports whether the result of os.Stat is a file that is neither regular nor a folder.
func inPlace(info os.FileInfo, err error) bool {
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Folder creates the folder of a flag. It returns an error if the folder is not writable.
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

// writable returns an error if a folder is not writable.
func writable(folder string) error {
	_, remove, err := Temporary(folder, ".writable")
	if err != nil {
		return cause(err)
	}
	remove()
	return nil
}

// cause returns the error of the system without its path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
