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

// Read returns the codes that WriteTo wrote to a file, with their quantiser. It returns an error if r
// is nil, if the bytes are not codes, damaged, cut off or of another version, and the errors of
// UnmarshalQuantiser. The error wraps io.ErrUnexpectedEOF if bytes are missing. Beside an error, Read
// returns Codes with the rows of the parts before the error, or nil if there is no such part. Read
// reads no bytes beyond the codes, and takes memory in proportion to what it has read.
func Read[T dense.Float](r io.Reader) (Codes[T], error) {
	if r == nil {
		return nil, errNil("r")
	}
	return read[T](&input{r: r})
}

// View returns the codes of a file in memory, as Read does. On little-endian machines View does not
// copy codes and numbers if the address of data is a multiple of 8, as for mapped files. data must
// not change and must stay mapped while the codes are in use. View reads all bytes once to check
// them, and ignores bytes after the end of the codes.
func View[T dense.Float](data []byte) (Codes[T], error) { return read[T](&input{data: data}) }

func read[T dense.Float](in *input) (Codes[T], error) {
	data, err := in.quantiser()
	if err != nil {
		return nil, err
	}
	h, err := headerOf(data)
	if err != nil {
		return nil, err
	}
	r, err := in.rows(h.options.layout(h.order, h.centres))
	if r.n == 0 && err != nil {
		return nil, err
	}
	q, drawErr := newDrawn[T](h) // after the checks of the file, because rotations take memory
	if drawErr != nil {
		return nil, drawErr
	}
	return q.codesOf(r), err
}

func (q *quantiser[T]) Read(r io.Reader) (Codes[T], error) {
	if r == nil {
		return nil, errNil("r")
	}
	return q.read(&input{r: r})
}

func (q *quantiser[T]) View(data []byte) (Codes[T], error) { return q.read(&input{data: data}) }

func (q *quantiser[T]) read(in *input) (Codes[T], error) {
	data, err := in.quantiser()
	if err != nil {
		return nil, err
	}
	if own, _ := q.MarshalBinary(); !bytes.Equal(own, data) {
		return nil, errors.New("quantise: the codes are of another quantiser")
	}
	r, err := in.rows(q.layout)
	if r.n == 0 && err != nil {
		return nil, err
	}
	return q.codesOf(r), err
}

// rows reads all parts, and returns the rows of the parts before an error.
func (in *input) rows(l layout) (*rows, error) {
	r := new(rows)
	for {
		n := in.head(r.n, l)
		if n > math.MaxInt-r.n {
			in.fail("more than an int counts after %d rows", r.n)
		}
		if l.centred() && uint64(r.n+n) > math.MaxUint32 {
			in.fail("%d rows with centres after %d, want less than 2³²", n, r.n)
		}
		var labels []uint32
		var b *block
		if n > 0 {
			labels, b = in.part(n, l)
		}
		if in.err != nil {
			return r, fmt.Errorf("quantise: rows from %d on: %w", r.n, in.err)
		}
		if n == 0 {
			return r, nil
		}
		r = r.withBlock(b, labels, l)
	}
}

// withBlock returns r followed by the rows of a block, which holds one cluster after the other.
// With centres, labels has the clusters of the rows in the order of their numbers.
func (r *rows) withBlock(b *block, labels []uint32, l layout) *rows {
	next := &rows{n: r.n + b.size, clusters: make([]cluster, l.clusters)}
	copy(next.clusters, r.clusters)
	counts := make([]int, l.clusters)
	if labels == nil {
		counts[0] = b.size
	}
	for _, label := range labels {
		counts[label]++
	}
	at := make([]int, l.clusters) // the place of the first row of each cluster in the block
	sum := 0
	for k, n := range counts {
		at[k] = sum
		sum += n
		if n > 0 {
			c := next.clusters[k]
			part := b.cut(at[k], sum, c.n, l)
			next.clusters[k] = cluster{c.n + n, append(c.blocks, part)}
		}
	}
	for i, label := range labels {
		b.ids[at[label]] = uint32(r.n + i)
		at[label]++
	}
	if l.centred() {
		next.labels = r.labelled(labels)
	}
	return next
}

// usedBits returns the words of a row in which all bits of codes are set.
func usedBits(l layout) []uint64 {
	used, codes := make([]uint64, l.words), make([]uint8, l.elements)
	for i := range codes {
		codes[i] = uint8(1<<l.width - 1)
	}
	scan.Pack(used, codes, l.width)
	return used
}

// input reads from r, or from the beginning of data, and sums the bytes for a checksum. After an
// error input reads nothing.
type input struct {
	r    io.Reader
	data []byte
	n    int64
	sum  uint32
	err  error // the first error
}

// fail sets the error, unless there is one.
func (in *input) fail(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(format, args...)
	}
}

// bytes fills b with the next bytes.
func (in *input) bytes(b []byte) {
	if in.err != nil {
		return
	}
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
	case err == nil || err == io.EOF || err == io.ErrUnexpectedEOF:
		in.cutOff()
	default:
		in.err = err
	}
}

func (in *input) cutOff() {
	in.fail("the bytes are cut off after %d: %w", in.n, io.ErrUnexpectedEOF)
}

// seal reads a checksum and compares it with the sum.
func (in *input) seal() {
	want := in.sum
	var b [partTail]byte
	in.bytes(b[:])
	if got := binary.LittleEndian.Uint64(b[:]); got != uint64(want) {
		in.fail("checksum %08x, but the bytes say %08x: they are damaged", want, got)
	}
}

// quantiser reads the head of a file, and returns the bytes of the quantiser.
func (in *input) quantiser() ([]byte, error) {
	var head [headSize]byte
	in.bytes(head[:])
	n := int(binary.LittleEndian.Uint32(head[12:]))
	switch v := binary.LittleEndian.Uint32(head[8:]); {
	case string(head[:8]) != codesName:
		in.fail("bytes begin with %q, want %q", head[:8], codesName)
	case v != codesVersion:
		in.fail("version %d, want %d", v, codesVersion)
	case n < quantiserSize:
		in.fail("quantiser of %d bytes, want at least %d", n, quantiserSize)
	}
	b := numbersFrom[uint8](in, n+padding(n))
	in.seal()
	if in.err != nil {
		return nil, fmt.Errorf("quantise: %w", in.err)
	}
	return b[:n], nil
}

// head reads the head of the part with the given first row, and returns the number of its rows.
func (in *input) head(first int, l layout) int {
	in.sum = 0
	var b [partHead]byte
	head, tail := b[:partHead-frame.TrailerSize], b[partHead-frame.TrailerSize:]
	in.bytes(head)
	want := in.sum
	in.bytes(tail)
	at, n, most := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), partRows(l)
	switch got := binary.LittleEndian.Uint32(tail); {
	case string(b[:8]) != partName:
		in.fail("a part begins with %q, want %q", b[:8], partName)
	case got != want:
		in.fail("head with checksum %08x, but the bytes say %08x: they are damaged", want, got)
	case at != uint64(first):
		in.fail("a part of rows from %d on", at)
	case n > uint64(most):
		in.fail("a part of %d rows, want at most %d", n, most)
	}
	if err := limit.Memory[byte](int(n), l.bytes()); err != nil {
		in.fail("%w", err)
	}
	if in.err != nil {
		return 0
	}
	return int(n)
}

// part reads the body of a part of n rows: with centres the clusters of the rows, and a block that
// holds the rows of one cluster after the other.
func (in *input) part(n int, l layout) (labels []uint32, b *block) {
	b = &block{size: n}
	arrays := l.columns()
	if l.centred() {
		labels = numbersFrom[uint32](in, n)
		arrays++
	}
	for k, has := range l.has {
		if has {
			b.numbers[k] = numbersFrom[float32](in, n)
		}
	}
	if l.signWords > 0 {
		b.signs = &block{size: n}
		b.signs.numbers[norms], b.signs.numbers[ratios] = b.numbers[norms], numbersFrom[float32](in, n)
		arrays++
	}
	var zeros [8]byte
	in.bytes(zeros[:padding(4*arrays*n)])
	b.words = numbersFrom[uint64](in, n*l.words)
	if b.signs != nil {
		b.signs.words = numbersFrom[uint64](in, n*l.signWords)
	}
	in.seal()
	if in.err != nil {
		return nil, b
	}
	in.check(labels, b, l)
	if b.signs != nil {
		in.check(nil, b.signs, l.ofSigns())
	}
	if l.centred() {
		b.ids = make([]uint32, n)
	}
	return labels, b
}

// check fails if Append cannot have written the rows of a part.
func (in *input) check(labels []uint32, b *block, l layout) {
	for i, label := range labels {
		if uint64(label) >= uint64(l.clusters) {
			in.fail("row %d of the part has centre %d of %d", i, label, l.clusters-1)
			return
		}
	}
	for k, all := range b.numbers {
		for i, v := range all {
			if !column(k).allows(v) {
				in.fail("code %d of the part has the %s %v", i, columnNames[k], v)
				return
			}
		}
	}
	used := usedBits(l)
	for i, w := range b.words {
		if w&^used[i%l.words] != 0 {
			in.fail("code %d of the part goes beyond its %d elements", i/l.words, l.elements)
			return
		}
	}
}

var columnNames = [columns]string{"norm", "ratio", "variance", "product", "coded product"}

// allows reports whether a row may have the number v. Append writes smaller numbers.
func (c column) allows(v float32) bool {
	most := [columns]float32{0x1p101, 0x1p24, 0x1p48, math.MaxFloat32, math.MaxFloat32}[c]
	return v <= most && (v >= 0 || c >= centreProducts && v >= -most)
}

// atOnce is the largest number of elements that numbersFrom allocates before it has read any.
const atOnce = 1 << 21

// numbersFrom reads n numbers. It returns a slice of in.data if byte order and alignment permit.
func numbersFrom[E any](in *input, n int) []E {
	width := int(unsafe.Sizeof(*new(E)))
	if in.err == nil && in.r == nil {
		if len(in.data)/width < n {
			in.n += int64(len(in.data))
			in.cutOff()
			return nil
		}
		b := in.data[:n*width]
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); littleEndian && at%uintptr(width) == 0 {
			in.sum = crc32.Update(in.sum, frame.Castagnoli, b)
			in.n += int64(len(b))
			in.data = in.data[len(b):]
			return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), n)
		}
	}
	var x []E
	for in.err == nil && len(x) < n {
		old := len(x)
		x = append(make([]E, 0, min(n, max(2*old, atOnce))), x...)
		x = x[:cap(x)]
		b := inBytes(x[old:])
		in.bytes(b)
		swap(b, width)
	}
	return x
}
