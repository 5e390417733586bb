// Package whole replaces files atomically: a file is complete or absent.
package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write creates or replaces the file at path, whose content write writes. Write first writes the
// content to a temporary folder beside path, so that an error, which names path, leaves the old
// file unchanged. The new file has the permissions of the old file. If path is a link, Write
// replaces its target. If path is a pipe or a device, Write writes to it directly.
func Write(path string, write func(io.Writer) error) error {
	if err := replace(path, write); err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // p.Path is the temporary path
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func replace(path string, write func(io.Writer) error) error {
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return create(path, write)
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	default:
		old = nil
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	part := filepath.Join(folder, filepath.Base(path))
	if err := create(part, write); err != nil {
		return err
	}
	if old != nil {
		if err := os.Chmod(part, old.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(part, path)
}

func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
