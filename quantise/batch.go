package quantise

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// fewRows is the number of rows that a batch multiplies.
const fewRows = 64

// batch is some rows that a query is multiplied by: their addresses, and their numbers.
type batch struct {
	list     [fewRows + scan.ListedMore]*byte
	columns  [columns][fewRows]float32
	clusters [fewRows]int32
	ids      [fewRows]int
	products [fewRows]float32
	words    []uint64 // a copy of rows where the kernels want words
}

var batches pool.Of[batch]

// addRows makes rows the rows of a batch.
func (r *rows) addRows(f *batch, ids []int, words int) {
	for i := 0; i < len(ids); {
		n := 1 // the number of rows that follow each other in one block
		b, place, cluster := r.locate(ids[i])
		if b.ids == nil {
			for most := min(len(ids)-i, b.size-place); n < most && ids[i+n] == ids[i]+n; {
				n++
			}
		}
		f.add(i, n, b, place, cluster, words)
		i += n
	}
}

// add makes the n rows of a block from a place on the rows of the batch from i on.
func (f *batch) add(i, n int, b *block, place, cluster, words int) {
	for j := range n {
		f.list[i+j] = (*byte)(unsafe.Pointer(&b.words[(place+j)*words]))
		f.clusters[i+j] = int32(cluster)
	}
	copy(f.columns[norms][i:i+n], b.numbers[norms][place:])
	for j := range n {
		f.columns[ratios][i+j], f.columns[variances][i+j] = 1, 0
	}
	if v := b.numbers[ratios]; v != nil {
		copy(f.columns[ratios][i:i+n], v[place:])
	}
	if v := b.numbers[variances]; v != nil {
		copy(f.columns[variances][i:i+n], v[place:])
	}
	if b.ids != nil {
		copy(f.columns[centreProducts][i:i+n], b.numbers[centreProducts][place:])
		copy(f.columns[codedProducts][i:i+n], b.numbers[codedProducts][place:])
	}
}

// multiply sets the products of the first n rows with a rounded vector.
func (f *batch) multiply(x *rounded, n int) {
	if len(x.tile) > 0 {
		for i := range n {
			row := unsafe.Slice((*uint64)(unsafe.Pointer(f.list[i])), x.words)
			if x.table != nil {
				scan.LevelProducts(f.products[i:], row, x.table, x.tile, 1, x.words, x.width, 1, 1)
			} else {
				scan.Products(f.products[i:], row, x.tile, 1, x.words, x.width, 1, 1)
			}
		}
	} else {
		most := (n + scan.ListedStep - 1) / scan.ListedStep * scan.ListedStep
		for i := n; i < most+scan.ListedMore; i++ {
			f.list[i] = f.list[n-1]
		}
		scan.ListedProducts(f.products[:], f.list[:], x.listed, most, x.words, x.width)
	}
	vecmath.Scale(f.products[:n], x.scale)
}

// multiplyShifted sets the products of the first n rows with what a query is rounded to for their
// centres.
func (q *quantiser[T]) multiplyShifted(f *batch, x *Query, n int) {
	for from, to := 0, 0; from < n; from = to {
		one := x.roundedOf(q.shiftOf(x, int(f.clusters[from])))
		for to++; to < n && x.roundedOf(q.shiftOf(x, int(f.clusters[to]))) == one; {
			to++
		}
		if to-from == n {
			f.multiply(one, n)
			return
		}
		part := batches.Get()
		copy(part.list[:], f.list[from:to])
		part.multiply(one, to-from)
		copy(f.products[from:], part.products[:to-from])
		batches.Put(part)
	}
}
