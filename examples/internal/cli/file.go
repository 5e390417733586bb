package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Save does nothing for an empty path, and prints what and the path on w.
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

// Write writes the output of write to a file. The file keeps its content if write returns an error.
func Write(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

func writable(folder string) error {
	file, err := os.CreateTemp(folder, ".writable")
	if err != nil {
		return cause(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
