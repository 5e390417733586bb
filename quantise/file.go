package quantise

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
)

// Read reads r to the end as a file of Codes.Write, and returns the Codes with the quantiser. Read
// allocates memory in proportion to the bytes that r has delivered so far. Read returns an error if
// r is nil, and if the file is cut off, damaged, of another version or no file of Codes.Write; the
// error wraps io.ErrUnexpectedEOF if bytes are missing.
func Read[T dense.Float](r io.Reader) (Codes[T], error) {
	if r == nil {
		return nil, errNil("r")
	}
	f, err := archive.Read[float64, codesFile](r, "quantise", fileName)
	return open[T](f, err)
}

// View returns the Codes in the argument data, the bytes of a file of Codes.Write. On little-endian
// machines, View uses codes in data without a copy if the address of data is a multiple of 8, as in
// memory-mapped files. The argument data of View must not change and must stay mapped while the
// Codes are in use. View reads all bytes of data once to check the file.
func View[T dense.Float](data []byte) (Codes[T], error) {
	f, err := archive.View[float64, codesFile](data, "quantise", fileName)
	return open[T](f, err)
}

const fileName = "codes"

// Rows are sorted by cluster, and then by number. The columns that the layout lacks are nil.
type codesFile struct {
	recipe
	Order  int      // the number of rotated coordinates
	Labels []uint32 // with centres: the clusters of the rows, in the order of their numbers

	Norms, Ratios, Variances, CentreProducts, CodedProducts []float32

	Words []uint64 // one part of all rows after the other
}

func (f *codesFile) columns() [columns]*[]float32 {
	return [columns]*[]float32{&f.Norms, &f.Ratios, &f.Variances, &f.CentreProducts, &f.CodedProducts}
}

func (c *codes[T]) Write(w io.Writer) error {
	if w == nil {
		return errNil("w")
	}
	all, q := c.rows(), c.q
	f := codesFile{recipe: recipe{Options: q.options, D: q.in, Seed: q.seed[:]}, Order: q.out}
	if q.spectrum != nil {
		f.Learned = []spectrum{*q.spectrum}
	}
	if q.centred() {
		f.Centres = dense.New[float64](len(q.centres)-1, q.in)
		for i, c := range q.centres[1:] {
			for j, v := range c.vector {
				f.Centres.Set(i, j, float64(v))
			}
		}
		f.Labels = make([]uint32, 0, all.n)
		for i := range all.n {
			f.Labels = append(f.Labels, uint32(all.label(i)))
		}
	}
	for k, column := range f.columns() {
		if q.has[k] {
			*column = gather(all, 1, func(b *codeBlock) []float32 { return b.numbers[k] })
		}
	}
	var parts [][]uint64
	for k, words := range q.parts[:q.count] {
		parts = append(parts, gather(all, words, func(b *codeBlock) []uint64 { return b.words[k] }))
	}
	f.Words = joined(parts)
	return archive.Write[float64](w, "quantise", fileName, f)
}

// gather returns the elements of all rows, of which a row has width. It copies the elements of
// several blocks.
func gather[E any](all *rows, width int, of func(b *codeBlock) []E) []E {
	var parts [][]E
	for _, c := range all.clusters {
		for k, b := range c.blocks {
			parts = append(parts, of(b)[:c.used(k)*width])
		}
	}
	return joined(parts)
}

func joined[E any](parts [][]E) []E {
	switch len(parts) {
	case 0:
		return []E{}
	case 1:
		return parts[0]
	}
	return slices.Concat(parts...)
}

// open returns the codes of a file, or err if it is not nil. It checks the rows before it draws a
// rotation, which takes memory.
func open[T dense.Float](f codesFile, err error) (Codes[T], error) {
	if err != nil {
		return nil, err
	}
	r, err := f.rows()
	if err != nil {
		return nil, err
	}
	q, err := newOf[T](f.recipe)
	if err != nil {
		return nil, err
	}
	if _, out := q.Dims(); out != f.Order {
		return nil, fmt.Errorf("quantise: codes of %d rotated coordinates, want %d", f.Order, out)
	}
	return q.codesOf(r), nil
}

func (f *codesFile) rows() (*rows, error) {
	l, err := f.layout()
	if err != nil {
		return nil, err
	}
	n := len(f.Norms)
	if f.Centres.Rows > 0 {
		l = l.withClusters(f.Centres.Rows + 1)
	}
	if err := l.check(0, n); err != nil {
		return nil, err
	}
	switch {
	case len(f.Seed) != 2:
		return nil, fmt.Errorf("quantise: seed of %d words, want 2", len(f.Seed))
	case f.Centres.Rows > 0 && f.Centres.Cols != f.D:
		return nil, fmt.Errorf("quantise: centres are %d×%d, want K×%d", f.Centres.Rows, f.Centres.Cols, f.D)
	case len(f.Words) != n*l.words:
		return nil, fmt.Errorf("quantise: %d words of codes for %d rows, want %d", len(f.Words), n, n*l.words)
	case len(f.Labels) != n*min(l.clusters-1, 1):
		return nil, fmt.Errorf("quantise: centres of %d rows, want %d", len(f.Labels), n)
	}
	for i, label := range f.Labels {
		if uint64(label) >= uint64(l.clusters) {
			return nil, fmt.Errorf("quantise: row %d has centre %d of %d", i, label, l.clusters-1)
		}
	}
	b, words := &codeBlock{size: n}, f.Words
	for k, each := range l.parts[:l.count] {
		b.words[k], words = words[:n*each], words[n*each:]
	}
	for k, column := range f.columns() {
		if !l.has[k] && *column == nil {
			continue
		}
		if !l.has[k] || len(*column) != n {
			return nil, fmt.Errorf("quantise: %d of the number %s for %d rows", len(*column), columnNames[k], n)
		}
		b.numbers[k] = *column
	}
	if err := f.check(b, l); err != nil {
		return nil, err
	}
	return rowsOf(b, f.Labels, l), nil
}

func rowsOf(b *codeBlock, labels []uint32, l layout) *rows {
	r := &rows{n: b.size, clusters: make([]cluster, l.clusters)}
	if !l.centred() {
		if b.size > 0 {
			r.clusters[0] = cluster{b.size, []*codeBlock{b}}
		}
		return r
	}
	b.ids = make([]uint32, b.size)
	counts := make([]int, l.clusters)
	for _, label := range labels {
		counts[label]++
	}
	at := make([]int, l.clusters) // the place of the first row of each cluster in the block
	sum := 0
	for k, n := range counts {
		at[k] = sum
		sum += n
		if n > 0 {
			r.clusters[k] = cluster{n, []*codeBlock{b.cut(at[k], sum, 0, l)}}
		}
	}
	for i, label := range labels {
		b.ids[at[label]] = uint32(i)
		at[label]++
	}
	r.labels = new(rows).labelled(labels)
	return r
}

func (f *codesFile) layout() (l layout, err error) {
	if len(f.Learned) == 0 {
		opts, err := f.Options.check()
		if err != nil {
			return l, err
		}
		order, err := opts.order(f.D)
		return opts.layout(max(order, 1)), err
	}
	switch {
	case len(f.Learned) > 1 || f.Centres.Rows > 0:
		return l, fmt.Errorf("quantise: %d spectra and %d centres, want one spectrum or centres", len(f.Learned), f.Centres.Rows)
	case f.D < 1:
		return l, fmt.Errorf("quantise: d = %d, want at least 1", f.D)
	}
	s := &f.Learned[0]
	if err := cmp.Or(f.Options.checkLearned(), s.check(f.D)); err != nil {
		return l, err
	}
	l = f.Options.learnedLayout(s)
	if most := f.Options.learnedWords(f.D); l.words > most {
		return l, fmt.Errorf("quantise: bands of %d words, want at most %d for Bits = %v", l.words, most, f.Options.Bits)
	}
	return l, nil
}

func (f *codesFile) used(l layout) []uint64 {
	used := make([]uint64, l.words)
	if len(f.Learned) == 0 {
		scan.Pack(used, slices.Repeat([]uint8{uint8(1<<l.width - 1)}, l.elements), l.width)
	} else {
		codes := slices.Repeat([]uint8{math.MaxUint8}, l.elements)
		bandsOf(f.Learned[0].Bands).pack(used, codes, make([]uint8, l.elements))
	}
	return used
}

// check returns an error unless Append can have written b.
func (f *codesFile) check(b *codeBlock, l layout) error {
	for k, all := range b.numbers {
		for i, v := range all {
			if !column(k).allows(v) {
				return fmt.Errorf("quantise: code %d has the %s %v", i, columnNames[k], v)
			}
		}
	}
	if b.size == 0 {
		return nil
	}
	some := f.used(l)
	for k, words := range l.parts[:l.count] {
		for i, w := range b.words[k] {
			if w&^some[i%words] != 0 {
				return fmt.Errorf("quantise: code %d goes beyond its %d elements", i/words, l.elements)
			}
		}
		some = some[words:]
	}
	return nil
}

var columnNames = [columns]string{"norm", "ratio", "variance", "product", "coded product"}

func (c column) allows(v float32) bool {
	most := [columns]float32{0x1p101, 0x1p24, 0x1p48, math.MaxFloat32, math.MaxFloat32}[c]
	return v <= most && (v >= 0 || c >= centreProducts && v >= -most)
}
