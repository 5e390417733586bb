package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// maxHeader is the length in bytes of the longest header that Read accepts.
const maxHeader = 100_000_000

// Read reads a safetensors file from r, and returns an error for bytes after the last tensor. Each
// Tensor that Read returns has memory of its own, and Shape and Data that are not nil. Read reads
// each tensor in one call of r.Read or in large blocks, so that only a file of many small tensors
// needs a bufio.Reader.
//
// An error of Read says which part of the file breaks the format, or wraps the error of r,
// io.ErrUnexpectedEOF for a file that ends too early. Read returns an error for tensors of more
// than 2⁴⁰ bytes together, or 2³⁰ on 32-bit systems. No input makes Read panic. Read allocates at
// most a constant plus a multiple of the bytes that r has delivered, whatever the header claims.
func Read(r io.Reader) (*File, error) {
	if r == nil {
		return nil, errors.New("safetensors: r is nil, want a reader")
	}
	return open(streamSource{r})
}

// View reads a safetensors file in memory, such as a memory-mapped file, and copies only the
// header: the Data of each tensor is a slice of the argument data. If data is a memory-mapped file,
// do not use the tensors after data is unmapped.
func View(data []byte) (*File, error) { return open(&bytesSource{data}) }

func open(s source) (*File, error) {
	f, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

type bytesSource struct{ rest []byte }

func (v *bytesSource) take(n int) ([]byte, error) {
	m, err := n, error(nil)
	if n > len(v.rest) {
		m, err = len(v.rest), io.ErrUnexpectedEOF
	}
	data := v.rest[:m:m]
	v.rest = v.rest[m:]
	return data, err
}

func (v *bytesSource) end() error {
	if len(v.rest) > 0 {
		return errTrailing
	}
	return nil
}

type source interface {
	// take returns n bytes, or fewer and an error, io.ErrUnexpectedEOF at the end of the file.
	take(n int) ([]byte, error)
	// end returns an error if bytes are left.
	end() error
}

var errTrailing = errors.New("bytes follow the last tensor")

type streamSource struct{ io.Reader }

func (r streamSource) end() error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return errTrailing
	case err != io.EOF:
		return err
	}
	return nil
}

func parse(r source) (*File, error) {
	text, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	metadata, entries, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	if err := arrange(entries); err != nil {
		return nil, err
	}
	f := &File{Metadata: metadata, Tensors: make(map[string]Tensor, len(entries))}
	for _, e := range entries {
		data, err := r.take(e.end - e.begin)
		if err != nil {
			return nil, fmt.Errorf("tensor %.80q: data_offsets [%d, %d], but the buffer gives %d bytes: %w", e.name, e.begin, e.end, e.begin+len(data), err)
		}
		f.Tensors[e.name] = Tensor{DType: e.dtype, Shape: e.shape, Data: data}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return f, nil
}

func readHeader(r source) ([]byte, error) {
	prefix, err := r.take(8)
	if err != nil {
		return nil, fmt.Errorf("length of the header: %d of 8 bytes: %w", len(prefix), err)
	}
	n := binary.LittleEndian.Uint64(prefix)
	if n > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, want at most %d: not a safetensors file", n, maxHeader)
	}
	text, err := r.take(int(n))
	if err != nil {
		return nil, fmt.Errorf("header of %d bytes, but the input gives %d: %w", n, len(text), err)
	}
	return text, nil
}

// take allocates at most 64 KiB or four times the bytes that r delivers.
func (r streamSource) take(n int) ([]byte, error) {
	data := make([]byte, 0, min(n, 64<<10))
	for {
		m, err := io.ReadFull(r, data[len(data):cap(data)])
		data = data[:len(data)+m]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || len(data) == n {
			return data, err
		}
		data = append(make([]byte, 0, len(data)+min(len(data), n-len(data))), data...)
	}
}

// arrange sorts the entries by offset. Of entries that start at one byte, empty tensors come first.
// arrange checks that each entry has the number of bytes of its type and shape, that the entries
// cover the buffer without holes, and that memory can hold the tensors.
func arrange(entries []entry) error {
	for _, e := range entries {
		_, size, err := extent(e.dtype, e.shape)
		switch {
		case err != nil:
			return fmt.Errorf("tensor %.80q: %w", e.name, err)
		case e.begin > e.end:
			return fmt.Errorf("tensor %.80q: data_offsets [%d, %d] end before they begin", e.name, e.begin, e.end)
		case e.end-e.begin != size:
			return fmt.Errorf("tensor %.80q: data_offsets [%d, %d] hold %d bytes, want %d for dtype %s and shape %s",
				e.name, e.begin, e.end, e.end-e.begin, size, e.dtype, brief(e.shape))
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), strings.Compare(a.name, b.name))
	})
	covered := 0
	for _, e := range entries {
		switch {
		case e.begin < covered:
			return fmt.Errorf("tensor %.80q: data_offsets [%d, %d] overlap another tensor, which ends at %d", e.name, e.begin, e.end, covered)
		case e.begin > covered:
			return fmt.Errorf("tensor %.80q: data_offsets [%d, %d] leave a hole from %d", e.name, e.begin, e.end, covered)
		}
		if err := limit.Memory[byte](e.end); err != nil {
			return fmt.Errorf("tensor %.80q: data_offsets [%d, %d]: %w", e.name, e.begin, e.end, err)
		}
		covered = e.end
	}
	return nil
}
