package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

func (q *quantiser[T]) RowBytes() int {
	n := 8*q.words + 4*q.columns()
	if q.centred() {
		n += 4
	}
	return n
}

func (q *quantiser[T]) EncodeBytes(dst []byte, x dense.Matrix[T]) error {
	x.Check()
	size := q.RowBytes()
	if x.Cols != q.in {
		panic(fmt.Sprintf("quantise: x is %d×%d, want n×%d", x.Rows, x.Cols, q.in))
	}
	if len(dst)/size != x.Rows || len(dst)%size != 0 {
		return fmt.Errorf("quantise: dst has %d bytes, want %d rows of %d", len(dst), x.Rows, size)
	}
	e := q.encoders.Get()
	defer q.encoders.Put(e)
	q.prepare(e)
	e.words = scratch.Resize(e.words, q.words)
	for i := range x.Rows {
		row, label := x.RowRange(i, i+1), 0
		if q.centres != nil {
			r, at := math.Inf(1), 0
			for c := range q.centres {
				if square := vecmath.SquaredDistance(row.Row(0), q.centres[c].vector); square < r {
					r, at = square, c
				}
			}
			if q.fits(row.Row(0), at, r) {
				label = at
			}
			e.shifted.Shape(1, q.in)
			row = dense.Copy(e.shifted.Rows(1), row)
			vecmath.AddScaled(row.Row(0), q.centres[label].vector, -1)
		}
		for k, r := range q.rotations {
			e.rotated[k].Shape(1, q.out)
			r.Apply(e.rotated[k].Rows(1), row)
		}
		norm, err := normOf(e.rotated[0].Rows(1).Row(0), x.Row(i))
		if err != nil {
			return fmt.Errorf("quantise: row %d %w", i, err)
		}
		n := q.encodeRow(e, 0, norm, label, row)
		scan.Pack(e.words, e.codes, q.width)
		b := dst[i*size:][:0]
		for _, w := range e.words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		for k, v := range n {
			if q.has[k] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
		}
		if q.centred() {
			binary.LittleEndian.AppendUint32(b, uint32(label))
		}
	}
	return nil
}

func (q *quantiser[T]) EstimateBytes(dst []Estimate, query *Query, page []byte) error {
	if !q.prepared(query) {
		return errors.New("quantise: the query is not prepared by the quantiser")
	}
	size := q.RowBytes()
	if len(page)/size != len(dst) || len(page)%size != 0 {
		return fmt.Errorf("quantise: page has %d bytes, want %d rows of %d", len(page), len(dst), size)
	}
	f := batches.Get()
	defer batches.Put(f)
	for lo := 0; lo < len(dst); lo += fewRows {
		some := dst[lo:min(lo+fewRows, len(dst))]
		if err := q.addBytes(f, page[lo*size:][:len(some)*size], lo); err != nil {
			return err
		}
		q.estimate(some, query, f)
	}
	return nil
}

// addBytes makes the rows of a page, of which the first has a number, the rows of a batch.
func (q *quantiser[T]) addBytes(f *batch, page []byte, first int) error {
	size := q.RowBytes()
	inPlace := q.table == nil && scan.Listed()
	if !inPlace {
		f.words = scratch.Resize(f.words, fewRows*q.words)
	}
	for i := range len(page) / size {
		row := page[i*size:][:size]
		if inPlace {
			f.list[i] = unsafe.SliceData(row)
		} else {
			words := f.words[i*q.words:][:q.words]
			for w := range words {
				words[w] = binary.LittleEndian.Uint64(row[8*w:])
			}
			f.list[i] = (*byte)(unsafe.Pointer(unsafe.SliceData(words)))
		}
		f.columns[ratios][i] = 1
		at := row[8*q.words:]
		for k, has := range q.has {
			if !has {
				continue
			}
			v := math.Float32frombits(binary.LittleEndian.Uint32(at))
			if at = at[4:]; !column(k).allows(v) {
				return fmt.Errorf("quantise: row %d has the %s %v", first+i, columnNames[k], v)
			}
			f.columns[k][i] = v
		}
		f.clusters[i] = 0
		if q.centred() {
			v := binary.LittleEndian.Uint32(at)
			if uint64(v) >= uint64(q.clusters) {
				return fmt.Errorf("quantise: row %d has centre %d of %d", first+i, v, q.clusters-1)
			}
			f.clusters[i] = int32(v)
		}
	}
	return nil
}
