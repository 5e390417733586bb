package quantise

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const fewRows = 64

type listedRows struct {
	list     [mostParts][fewRows + scan.ListedMore]*byte // for each part of the rows
	columns  [columns][fewRows]float32
	clusters [fewRows]int32
	ids      [fewRows]int
	products [fewRows]float32
	words    []uint64 // a copy of rows where the kernels want words
}

var batches pool.Of[listedRows]

func (r *rows) addRows(f *listedRows, ids []int, l *layout) {
	for i := 0; i < len(ids); {
		b, place, cluster := r.locate(ids[i])
		n := 1
		if b.ids == nil && i+1 < len(ids) && ids[i+1] == ids[i]+1 {
			for most := min(len(ids)-i, b.size-place); n < most && ids[i+n] == ids[i]+n; {
				n++
			}
		}
		f.clusters[i] = int32(cluster)
		if n == 1 {
			f.addRow(i, b, place, l)
		} else {
			f.addRange(i, n, b, place, l)
		}
		i += n
	}
}

func (f *listedRows) addRow(i int, b *codeBlock, place int, l *layout) {
	f.list[0][i] = (*byte)(unsafe.Pointer(&b.words[0][place*l.parts[0]]))
	for k := 1; k < l.count; k++ {
		f.list[k][i] = (*byte)(unsafe.Pointer(&b.words[k][place*l.parts[k]]))
	}
	f.columns[norms][i], f.columns[ratios][i], f.columns[variances][i] = b.numbers[norms][place], b.numbers[ratios][place], 0
	if v := b.numbers[variances]; v != nil {
		f.columns[variances][i] = v[place]
	}
	if v := b.numbers[centreProducts]; v != nil {
		f.columns[centreProducts][i] = v[place]
	}
	if v := b.numbers[codedProducts]; v != nil {
		f.columns[codedProducts][i] = v[place]
	}
}

func (f *listedRows) addRange(i, n int, b *codeBlock, place int, l *layout) {
	f.point(i, n, b, place, l)
	clear(f.clusters[i : i+n])
	for k, v := range b.numbers[:codedProducts] {
		own := f.columns[k][i : i+n]
		if v != nil {
			copy(own, v[place:])
		} else {
			clear(own)
		}
	}
}

func (f *listedRows) point(i, n int, b *codeBlock, place int, l *layout) {
	for k, words := range l.parts[:l.count] {
		for j, rows := 0, b.words[k][place*words:][:n*words]; j < n; j++ {
			f.list[k][i+j] = (*byte)(unsafe.Pointer(&rows[j*words]))
		}
	}
}

func (f *listedRows) multiply(x *rounded, n int) {
	f.multiplyPart(f.products[:], &x.parts[0], 0, n)
	for k := 1; k < len(x.parts); k++ {
		var products [fewRows]float32
		f.multiplyPart(products[:], &x.parts[k], k, n)
		vecmath.AddScaled(f.products[:n], products[:n], 1)
	}
}

func (f *listedRows) multiplyPart(dst []float32, x *roundedPart, k, n int) {
	list := f.list[k][:]
	if !scan.Listed() {
		for i := range n {
			row := unsafe.Slice((*uint64)(unsafe.Pointer(list[i])), x.words)
			scan.Products(dst[i:], row, x.tile, 1, x.words, x.width, 1, 1)
		}
	} else {
		most := (n + scan.ListedStep - 1) / scan.ListedStep * scan.ListedStep
		for i := n; i < most+scan.ListedMore; i++ {
			list[i] = list[n-1]
		}
		scan.ListedProducts(dst, list, x.listed, most, x.words, x.width)
	}
	vecmath.Scale(dst[:n], x.scale)
}

func (q *quantiser[T]) multiplyShifted(f *listedRows, x *Query, n int) {
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
		for k := range part.list {
			copy(part.list[k][:], f.list[k][from:to])
		}
		part.multiply(one, to-from)
		copy(f.products[from:], part.products[:to-from])
		batches.Put(part)
	}
}
