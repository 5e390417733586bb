package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/quantise"
)

type indexFile[T dense.Float] struct {
	Measure  int
	Bits     float64
	KeepRows bool
	Learnt   bool
	Seed     []uint64
	Codes    []uint8         // the file of Codes.Write
	Rows     dense.Matrix[T] // 0×d if the state has no rows
	Numbers  []uint64        // ids that are numbers, or nil
	Texts    []uint8         // ids that are strings, one after the other, or nil
	Ends     []uint64        // their ends in Texts, or nil
}

const fileName = "index"

func (x *index[K, T]) Write(w io.Writer) error {
	if w == nil {
		return errors.New("index: w is nil")
	}
	s, err := x.now.Load().compacted()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	f := indexFile[T]{Measure: int(s.measure), Bits: s.bits, KeepRows: s.keeps, Learnt: s.learnt, Seed: s.seed[:], Rows: dense.New[T](0, s.d)}
	if s.hasRows() {
		f.Rows = s.matrix()
	}
	if isText[K]() {
		f.Texts, f.Ends = []uint8{}, make([]uint64, len(s.ids))
		for i, id := range as[string](s.ids) {
			f.Texts = append(f.Texts, id...)
			f.Ends[i] = uint64(len(f.Texts))
		}
	} else {
		f.Numbers = append([]uint64{}, as[uint64](s.ids)...)
	}
	var codes bytes.Buffer
	if err := s.codes.Write(&codes); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	f.Codes = codes.Bytes()
	return archive.Write[T](w, "index", fileName, f)
}

// Read reads a file of Index.Write for ids of type K and rows of type T to the end of r. Read
// allocates memory in proportion to the bytes that r has delivered so far. Read returns an error if
// r is nil, and if the file is cut off, damaged, of another version or no file of Index.Write; the
// error wraps io.ErrUnexpectedEOF if bytes are missing.
func Read[K ID, T dense.Float](r io.Reader) (Index[K, T], error) {
	if r == nil {
		return nil, errors.New("index: r is nil")
	}
	f, err := archive.Read[T, indexFile[T]](r, "index", fileName)
	if err != nil {
		return nil, err
	}
	return open[K](&f)
}

func open[K ID, T dense.Float](f *indexFile[T]) (Index[K, T], error) {
	if len(f.Seed) != 2 {
		return nil, fmt.Errorf("index: a seed of %d words, want 2", len(f.Seed))
	}
	if f.Bits == 0 && !f.Learnt {
		return nil, errors.New("index: no Bits and no Quantiser")
	}
	codes, err := quantise.View[T](f.Codes)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	d, _ := codes.Quantiser().Dims()
	o := &fixedSettings{d, quantise.Measure(f.Measure), f.Bits, f.KeepRows, [2]uint64(f.Seed)}
	if err := o.check(); err != nil {
		return nil, err
	}
	ids, err := idsOf[K](f)
	if err != nil {
		return nil, err
	}
	s := &state[K, T]{fixedSettings: o, codes: codes, learnt: f.Learnt}
	want := 0
	if s.hasRows() {
		want = len(ids)
	}
	if codes.Len() != len(ids) || f.Rows.Rows != want || f.Rows.Cols != d {
		return nil, fmt.Errorf("index: %d codes and %d×%d rows for %d ids, want %d×%d", codes.Len(), f.Rows.Rows, f.Rows.Cols, len(ids), want, d)
	}
	for i := range f.Rows.Rows {
		if err := checkVector(f.Rows.Row(i)); err != nil {
			return nil, fmt.Errorf("index: the row of id %#v %w", ids[i], err)
		}
	}
	s.add(ids, f.Rows.Row)
	x := of(s)
	if len(x.at) < len(ids) {
		return nil, fmt.Errorf("index: %d of %d ids are twice in the file", len(ids)-len(x.at), len(ids))
	}
	return x, nil
}

func idsOf[K ID, T dense.Float](f *indexFile[T]) ([]K, error) {
	if isText[K]() != (f.Numbers == nil) || isText[K]() != (f.Ends != nil) {
		return nil, fmt.Errorf("index: the ids are of another type than %v", reflect.TypeFor[K]())
	}
	if f.Numbers != nil {
		return as[K](f.Numbers), nil
	}
	texts, all, from := make([]string, len(f.Ends)), string(f.Texts), uint64(0)
	for i, end := range f.Ends {
		if end < from || end > uint64(len(all)) {
			return nil, fmt.Errorf("index: id %d has the bytes [%d, %d) of %d", i, from, end, len(all))
		}
		texts[i], from = all[from:end], end
	}
	if from != uint64(len(all)) {
		return nil, fmt.Errorf("index: ids of %d bytes, want %d", from, len(all))
	}
	return as[K](texts), nil
}

func isText[K ID]() bool { return reflect.TypeFor[K]().Kind() == reflect.String }

func as[E, F any](list []F) []E {
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(list))), len(list))
}
