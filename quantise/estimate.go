package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

func (c *codes[T]) Estimates(dst []Estimate, query *Query, ids []int) []Estimate {
	c.q.check(query)
	all := c.rows()
	if ids == nil {
		if len(dst) > all.n {
			panic(fmt.Sprintf("quantise: dst has %d elements for %d rows", len(dst), all.n))
		}
	} else if len(dst) != len(ids) {
		panic(fmt.Sprintf("quantise: dst has %d elements, want %d", len(dst), len(ids)))
	}
	for _, id := range ids {
		if id < 0 || id >= all.n {
			panic(fmt.Sprintf("quantise: row %d of %d", id, all.n))
		}
	}
	e := c.q.estimators.Get()
	e.q, e.rows, e.dst, e.query, e.ids = c.q, all, dst, query, ids
	if len(dst) <= estimateRows {
		e.Piece(0)
	} else {
		parallel.Do((len(dst)+estimateRows-1)/estimateRows, e)
	}
	*e = estimator[T]{}
	c.q.estimators.Put(e)
	return dst
}

type estimator[T dense.Float] struct {
	q     *quantiser[T]
	rows  *rows
	dst   []Estimate
	query *Query
	ids   []int // nil for the first rows
}

const estimateRows = 1 << 12

func (e *estimator[T]) Piece(i int) {
	f := batches.Get()
	defer batches.Put(f)
	end := min((i+1)*estimateRows, len(e.dst))
	for lo := i * estimateRows; lo < end; lo += fewRows {
		hi := min(lo+fewRows, end)
		if e.ids == nil {
			for j := range f.ids[:hi-lo] {
				f.ids[j] = lo + j
			}
			e.rows.addRows(f, f.ids[:hi-lo], &e.q.layout)
		} else {
			e.rows.addRows(f, e.ids[lo:hi], &e.q.layout)
		}
		e.q.estimate(e.dst[lo:hi], e.query, f)
	}
}

func (q *quantiser[T]) EstimateBytes(dst []Estimate, query *Query, page []byte) error {
	if !q.prepared(query) {
		return errors.New("quantise: the query is not prepared by the quantiser")
	}
	size := q.rowBytes()
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

func (q *quantiser[T]) addBytes(f *listedRows, page []byte, first int) error {
	size := q.rowBytes()
	inPlace := scan.Listed()
	if !inPlace {
		f.words = scratch.Resize(f.words, fewRows*q.words)
	}
	for i := range len(page) / size {
		row := page[i*size:][:size]
		start := unsafe.Pointer(unsafe.SliceData(row))
		if !inPlace {
			words := f.words[i*q.words:][:q.words]
			for w := range words {
				words[w] = binary.LittleEndian.Uint64(row[8*w:])
			}
			start = unsafe.Pointer(unsafe.SliceData(words))
		}
		offset := 0
		for k, words := range q.parts[:q.count] {
			f.list[k][i] = (*byte)(unsafe.Add(start, offset))
			offset += 8 * words
		}
		at := row[8*q.words:]
		for k, has := range q.has {
			if f.columns[k][i] = 0; !has {
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

func (q *quantiser[T]) estimate(dst []Estimate, x *Query, f *listedRows) {
	if q.centres == nil {
		f.multiply(&x.rounded, len(dst))
	} else {
		q.multiplyShifted(f, x, len(dst))
	}
	q.estimateProducts(dst, x, f)
}

func (q *quantiser[T]) estimateProducts(dst []Estimate, x *Query, f *listedRows) {
	if q.centres == nil && x.z == 0 && x.norm > 0 {
		x.estimatePlain(dst, f)
		return
	}
	for i := range dst {
		n := numbersOf([columns]float32{f.columns[norms][i], f.columns[ratios][i], f.columns[variances][i], f.columns[centreProducts][i], f.columns[codedProducts][i]})
		dst[i] = x.estimate(q.shiftOf(x, int(f.clusters[i])), f.products[i], &n)
	}
}

// estimatePlain is estimate without centres and bounds.
func (x *Query) estimatePlain(dst []Estimate, f *listedRows) {
	square, rounding := float64(x.norm*x.norm), float64(x.rounding*x.rounding)
	for i := range dst {
		norm, ratio, variance := float64(f.columns[norms][i]), float64(f.columns[ratios][i]), float64(f.columns[variances][i])
		cosine := float64(float64(f.products[i]) * ratio)
		if x.bit > 0 {
			variance = max(0, float64(x.bit*ratio*ratio)-x.less)
		}
		across := variance * x.perDimension
		deviation := math.Sqrt(x.averageOf(cosine, across, ratio) + float64(rounding*(1+variance)))
		e := &dst[i]
		e.Low, e.High = 0, 0
		switch both := norm * x.norm; {
		case norm == 0:
			*e = Estimate{}
			if x.by == SquaredDistance {
				e.Value = square
			}
		case x.by == Cosine:
			e.Value, e.StdErr = cosine, deviation
		case x.by == InnerProduct:
			e.Value, e.StdErr = both*cosine, deviation*both
		default:
			e.Value, e.StdErr = float64(norm*norm)+square-float64(2*both*cosine), deviation*(both*2)
			if norm > unequal*x.norm || x.norm > unequal*norm {
				e.StdErr = bothErrors(e.StdErr, x.storedError(nil, &numbers{norm: norm}, e.Value))
			}
		}
	}
}
