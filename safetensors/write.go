package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Write writes f to w in the safetensors format, with equal bytes for equal Files: the tensors by
// type and then by name, as the reference implementation does. Write neither keeps nor changes f,
// and allocates memory only for the names and the header. Write calls w.Write once for the header
// and once for each tensor that is not empty.
//
// Write returns an error, and writes nothing, for a tensor whose DType, Shape and Data do not fit
// each other, a name or metadata that is not valid UTF-8, and a header of more than 100 MB. If
// w.Write fails, Write returns an error that wraps the error of w.Write.
func Write(w io.Writer, f *File) error {
	if w == nil || f == nil {
		return errors.New("safetensors: w or f is nil, want a writer and a file")
	}
	names := order(f.Tensors)
	head, err := header(f, names)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("safetensors: header: %w", err)
	}
	for _, name := range names {
		data := f.Tensors[name].Data
		if len(data) == 0 {
			continue
		}
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("safetensors: tensor %.80q: %w", name, err)
		}
	}
	return nil
}

func order(tensors map[string]Tensor) []string {
	return slices.SortedFunc(maps.Keys(tensors), func(a, b string) int {
		return cmp.Or(cmp.Compare(tensors[b].DType.rank(), tensors[a].DType.rank()), strings.Compare(a, b))
	})
}

// The header is padded with spaces to a multiple of 8 bytes.
func header(f *File, names []string) ([]byte, error) {
	text := append(make([]byte, 8), '{')
	if f.Metadata != nil {
		var err error
		if text, err = appendMetadata(text, f.Metadata); err != nil {
			return nil, err
		}
	}
	begin := 0
	for _, name := range names {
		t := f.Tensors[name]
		if _, err := t.extent(); err != nil {
			return nil, fmt.Errorf("tensor %.80q: %w", name, err)
		}
		// Tensors may share memory, so that the sum may exceed an int.
		if len(t.Data) > math.MaxInt-begin {
			return nil, fmt.Errorf("tensor %.80q: %d bytes after %d are beyond an int", name, len(t.Data), begin)
		}
		if name == metadataKey || !utf8.ValidString(name) {
			return nil, fmt.Errorf("tensor %.80q: want valid UTF-8 but %s as its name", name, metadataKey)
		}
		text = separate(text)
		text = appendEntry(text, entry{name: name, dtype: t.DType, shape: t.Shape, begin: begin, end: begin + len(t.Data)})
		begin += len(t.Data)
	}
	text = append(text, '}')
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if len(text)-8 > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, want at most %d", len(text)-8, maxHeader)
	}
	binary.LittleEndian.PutUint64(text, uint64(len(text)-8))
	return text, nil
}

func appendMetadata(text []byte, metadata map[string]string) ([]byte, error) {
	text = append(appendString(text, metadataKey), ':', '{')
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("%s: key %.80q: %.80q, want valid UTF-8", metadataKey, key, value)
		}
		text = append(appendString(separate(text), key), ':')
		text = appendString(text, value)
	}
	return append(text, '}'), nil
}

func appendEntry(text []byte, e entry) []byte {
	text = appendString(text, e.name)
	text = appendString(append(text, `:{"dtype":`...), string(e.dtype))
	text = appendIntegers(append(text, `,"shape":`...), e.shape)
	text = appendIntegers(append(text, `,"data_offsets":`...), []int{e.begin, e.end})
	return append(text, '}')
}

func separate(text []byte) []byte {
	if text[len(text)-1] == '{' {
		return text
	}
	return append(text, ',')
}

func appendIntegers(text []byte, list []int) []byte {
	text = append(text, '[')
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, ']')
}

// appendString escapes as the reference implementation: what JSON forbids, by letter if possible.
func appendString(text []byte, s string) []byte {
	const hex = "0123456789abcdef"
	text = append(text, '"')
	for i := range len(s) {
		b := s[i]
		if letter := strings.IndexByte("\"\\\b\f\n\r\t", b); letter >= 0 {
			text = append(text, '\\', `"\bfnrt`[letter])
		} else if b < ' ' {
			text = append(text, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		} else {
			text = append(text, b)
		}
	}
	return append(text, '"')
}
