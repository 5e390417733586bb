package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Save saves a file and prints its path on w, unless the path is empty. what describes the file.
func Save(w io.Writer, what, path string, save func(path string) error) error {
	if path == "" {
		return nil
	}
	if err := save(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe %s is in %s\n", what, path)
	return err
}

// Write creates or replaces a file by what write writes. The file has the name path.part until it
// is complete, so that path never has a part of a file. A file that is not regular, such as
// /dev/null, is written in place.
func Write(path string, write func(io.Writer) error) error {
	part := path
	if !inPlace(os.Stat(path)) {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			path = to
		}
		part = path + ".part"
		defer os.Remove(part) // of an error
	}
	file, err := os.Create(part)
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	err = write(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil || part == path {
		return err
	}
	return os.Rename(part, path)
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
	made, err := os.MkdirTemp(folder, ".writable")
	if err != nil {
		return cause(err)
	}
	return os.Remove(made)
}

// cause returns the error of the system without the path, which the caller adds.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
