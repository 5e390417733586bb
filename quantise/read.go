package quantise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Read returns the codes that WriteTo wrote to a file, with their quantiser.
//
// Read returns an error if r is nil, if the bytes are not codes, damaged, cut off or of another version,
// if a norm is out of range, if a row has codes beyond d', and the errors of UnmarshalQuantiser. The
// error wraps io.ErrUnexpectedEOF if bytes are missing. Beside an error, Read returns Codes with the
// rows of the parts before the error, or nil if there is no such part. Read reads no bytes beyond the
// codes. Its memory is proportional to the bytes that it has read, except for the rotations, whose
// memory follows from d.
func Read[T dense.Float](r io.Reader) (Codes[T], error) {
	if r == nil {
		return nil, errNil("r")
	}
	return read[T](&input{r: r})
}

// View returns the codes of a file in memory, as Read does. On little-endian machines View does not copy
// codes and norms if the address of data is a multiple of 8, as for mapped files. data must not change
// and must stay mapped while the codes are in use. Append allocates memory for new rows. View reads all
// bytes once to check them, and ignores bytes after the end of the codes.
func View[T dense.Float](data []byte) (Codes[T], error) { return read[T](&input{data: data}) }

func read[T dense.Float](in *input) (Codes[T], error) {
	h, r, err := in.file()
	if r.n == 0 && err != nil {
		return nil, err
	}
	q, drawErr := drawn[T](h) // after the checks of the file, because rotations take memory
	if drawErr != nil {
		return nil, drawErr
	}
	return q.codesOf(r), err
}

// file reads a quantiser and its rows.
func (in *input) file() (header, *rows, error) {
	r := new(rows)
	data, err := in.quantiser()
	if err != nil {
		return header{}, r, err
	}
	h, err := headerOf(data)
	if err != nil {
		return h, r, err
	}
	f := formatOf(h.options, h.order*h.options.rotations(), h.centres)
	r, err = in.rows(r, &f)
	return h, r, err
}

func (c *codes[T]) ReadFrom(r io.Reader) (int64, error) {
	if r == nil {
		return 0, errNil("r")
	}
	in := input{r: r}
	err := c.add(&in)
	return in.n, err
}

func (c *codes[T]) View(data []byte) error { return c.add(&input{data: data}) }

// add appends the rows of a file.
func (c *codes[T]) add(in *input) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := in.quantiser()
	if err != nil {
		return err
	}
	if own, _ := c.q.MarshalBinary(); !bytes.Equal(own, data) {
		return errors.New("quantise: the codes are of another quantiser")
	}
	f := formatOf(c.q.options, c.q.elements(), c.q.clusters()-1)
	r, err := in.rows(c.rows(), &f)
	c.now.Store(r)
	return err
}

// rows reads all parts, and returns r followed by the rows of the parts before an error.
func (in *input) rows(r *rows, f *format) (*rows, error) {
	base := r.n
	for {
		first := r.n - base
		n, err := in.head(first, f)
		if err == nil && n > math.MaxInt-r.n {
			err = fmt.Errorf("more than an int counts after %d rows", r.n)
		}
		if err == nil && f.centred && uint64(r.n+n) > math.MaxUint32 {
			err = fmt.Errorf("%d rows with centres after %d, want less than 2³²", n, r.n)
		}
		var p filePart
		if err == nil && n > 0 {
			p, err = in.part(n, f)
		}
		if err != nil {
			return r, fmt.Errorf("quantise: rows from %d on: %w", first, err)
		}
		if n == 0 {
			return r, nil
		}
		r = r.followed(p, f)
	}
}

// filePart is a part of a file. labels are in the order of the rows, and the block holds the rows of
// one cluster after the other.
type filePart struct {
	labels []uint32
	rows   *block
}

// followed returns r followed by the rows of a part.
func (r *rows) followed(p filePart, f *format) *rows {
	next := &rows{n: r.n + p.rows.size, clusters: make([]cluster, f.clusters)}
	copy(next.clusters, r.clusters)
	counts := make([]int, f.clusters)
	if p.labels == nil {
		counts[0] = p.rows.size
	}
	for _, label := range p.labels {
		counts[label]++
	}
	at := make([]int, f.clusters) // the place of the first row of each cluster in the part
	sum := 0
	for k, n := range counts {
		at[k] = sum
		sum += n
		if n > 0 {
			l := next.clusters[k].closed(f.words)
			b := p.rows.cut(at[k], sum, f.words)
			b.first = l.n
			next.clusters[k] = cluster{l.n + n, append(l.blocks, b)}
		}
	}
	for i, label := range p.labels {
		p.rows.ids[at[label]] = uint32(r.n + i)
		at[label]++
	}
	if f.centred {
		next.labels = r.labelled(p.labels)
	}
	return next
}

// format describes the rows of a file.
type format struct {
	layout
	clusters        int
	elements, width int
	used            []uint64 // usedBits, computed by the first check
}

func formatOf(o Options, elements, centres int) format {
	l := layout{scan.Words(elements, o.width()), o.hasRatios(), centres > 0}
	return format{layout: l, clusters: centres + 1, elements: elements, width: o.width()}
}

// input reads from r, or from the beginning of data, and sums the bytes for a checksum.
type input struct {
	r    io.Reader
	data []byte
	n    int64
	sum  uint32
}

// bytes fills b with the next bytes.
func (in *input) bytes(b []byte) error {
	var n int
	var err error
	if in.r != nil {
		n, err = io.ReadFull(in.r, b)
	} else {
		n = copy(b, in.data)
		in.data = in.data[n:]
	}
	in.n += int64(n)
	switch {
	case n == len(b):
		in.sum = crc32.Update(in.sum, frame.Castagnoli, b)
		return nil
	case err == nil || err == io.EOF || err == io.ErrUnexpectedEOF:
		return in.cutOff()
	}
	return err
}

func (in *input) cutOff() error {
	return fmt.Errorf("the bytes are cut off after %d: %w", in.n, io.ErrUnexpectedEOF)
}

// seal reads a checksum and compares it with the sum.
func (in *input) seal() error {
	want := in.sum
	var b [partTail]byte
	if err := in.bytes(b[:]); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint32(b[:]); got != want {
		return fmt.Errorf("checksum %08x, but the bytes say %08x: they are damaged", want, got)
	}
	return nil
}

// quantiser reads the head of a file, and returns the bytes of the quantiser.
func (in *input) quantiser() ([]byte, error) {
	var head [headSize]byte
	if err := in.bytes(head[:]); err != nil {
		return nil, fmt.Errorf("quantise: %w", err)
	}
	if string(head[:8]) != codesName {
		return nil, fmt.Errorf("quantise: bytes begin with %q, want %q", head[:8], codesName)
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != codesVersion {
		return nil, fmt.Errorf("quantise: version %d, want %d", v, codesVersion)
	}
	n := int(binary.LittleEndian.Uint32(head[12:]))
	if n < quantiserSize {
		return nil, fmt.Errorf("quantise: quantiser of %d bytes, want at least %d", n, quantiserSize)
	}
	b, err := numbers[uint8](in, n+padding(n))
	if err == nil {
		err = in.seal()
	}
	if err != nil {
		return nil, fmt.Errorf("quantise: %w", err)
	}
	return b[:n], nil
}

// head reads the head of the part with the given first row, and returns the number of its rows.
func (in *input) head(first int, f *format) (int, error) {
	in.sum = 0
	var b [partHead]byte
	if err := in.bytes(b[:partHead-frame.TrailerSize]); err != nil {
		return 0, err
	}
	want := in.sum
	if err := in.bytes(b[partHead-frame.TrailerSize:]); err != nil {
		return 0, err
	}
	if string(b[:8]) != partName {
		return 0, fmt.Errorf("a part begins with %q, want %q", b[:8], partName)
	}
	if got := binary.LittleEndian.Uint32(b[partHead-frame.TrailerSize:]); got != want {
		return 0, fmt.Errorf("head with checksum %08x, but the bytes say %08x: they are damaged", want, got)
	}
	if at := binary.LittleEndian.Uint64(b[8:]); at != uint64(first) {
		return 0, fmt.Errorf("a part of rows from %d on", at)
	}
	n := binary.LittleEndian.Uint64(b[16:])
	if most := partRows(f.layout, f.clusters); n > uint64(most) {
		return 0, fmt.Errorf("a part of %d rows, want at most %d", n, most)
	}
	if err := limit.Memory[byte](int(n), f.bytes()); err != nil {
		return 0, err
	}
	return int(n), nil
}

// part reads the body of a part of n rows.
func (in *input) part(n int, f *format) (p filePart, err error) {
	b := &block{size: n}
	p.rows = b
	arrays := 0
	take := func(x *[]float32) {
		if err == nil {
			*x, err = numbers[float32](in, n)
			arrays++
		}
	}
	if f.centred {
		p.labels, err = numbers[uint32](in, n)
		arrays++
	}
	take(&b.norms)
	if f.ratios {
		take(&b.ratios)
	}
	if f.centred {
		take(&b.centreProducts)
	}
	if err == nil {
		var zeros [8]byte
		err = in.bytes(zeros[:padding(4*arrays*n)])
	}
	if err == nil {
		b.words, err = numbers[uint64](in, n*f.words)
	}
	if err == nil {
		err = in.seal()
	}
	if err == nil {
		err = f.check(p)
	}
	if err == nil && f.centred {
		b.ids = make([]uint32, n)
	}
	return p, err
}

// check returns an error if Append cannot have written the part.
func (f *format) check(p filePart) error {
	for i, label := range p.labels {
		if uint64(label) >= uint64(f.clusters) {
			return fmt.Errorf("row %d of the part has centre %d of %d", i, label, f.clusters-1)
		}
	}
	b := p.rows
	for k, all := range [][]float32{b.norms, b.ratios, b.centreProducts} {
		least, most := float32(0), [...]float32{0x1p101, 0x1p24, math.MaxFloat32}[k] // Append writes smaller numbers
		if k == 2 {
			least = -most
		}
		for i, v := range all {
			if !(v >= least && v <= most) {
				return fmt.Errorf("code %d of the part has the %s %v", i, [...]string{"norm", "ratio", "product"}[k], v)
			}
		}
	}
	if f.used == nil {
		f.used = usedBits(f.elements, f.words, f.width)
	}
	for i, w := range b.words {
		if w&^f.used[i%f.words] != 0 {
			return fmt.Errorf("code %d of the part goes beyond its %d elements", i/f.words, f.elements)
		}
	}
	return nil
}

// atOnce is the largest number of elements that numbers allocates before it has read any.
const atOnce = 1 << 21

// numbers reads n numbers. It returns a slice of in.data if byte order and alignment permit.
func numbers[E number](in *input, n int) ([]E, error) {
	width := size[E]()
	if in.r == nil {
		if len(in.data)/width < n {
			in.n += int64(len(in.data))
			return nil, in.cutOff()
		}
		b := in.data[:n*width]
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); littleEndian && at%uintptr(width) == 0 {
			in.sum = crc32.Update(in.sum, frame.Castagnoli, b)
			in.n += int64(len(b))
			in.data = in.data[len(b):]
			return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
		}
	}
	x := make([]E, 0, min(n, atOnce))
	for len(x) < n {
		old := len(x)
		if old == cap(x) {
			x = append(make([]E, 0, min(n, 2*old)), x...)
		}
		x = x[:cap(x)]
		b := inBytes(x[old:])
		if err := in.bytes(b); err != nil {
			return nil, err
		}
		swap(b, width)
	}
	return x, nil
}
