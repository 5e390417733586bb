package quantise

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// A file of codes begins with the quantiser. All numbers are little endian, and zeros pad the
// quantiser and the numbers of a part to a multiple of 8 bytes:
//
//	 0  8 bytes  "rfcodes\x00"
//	 8  uint16   version, 3
//	10  2 bytes  0
//	12  uint32   number of bytes of the quantiser
//	16           the quantiser, as MarshalBinary of it returns it
//	    uint32   CRC-32C of all bytes before
//	    4 bytes  0
//
// Parts follow. The rows of a part follow the rows of the part before it:
//
//	 0  8 bytes  "rfrows\x00\x00"
//	 8  uint64   number of the first row
//	16  uint64   rows
//	24  4 bytes  0
//	28  uint32   CRC-32C of the 28 bytes before
//	32  uint32   with centres: the number of the centre of each row, 0 for the origin
//	    float32  norms, then ratios and variances if the scheme has them, then with centres
//	             (x−c)ᵀc and its estimates from the codes, then with TwoStage the ratios of the
//	             signs
//	    uint64   words, then with TwoStage the words of the signs
//	    uint32   CRC-32C of all bytes of the part before
//	    4 bytes  0
//
// Numbers and words are sorted by centre, and then by row. Every part but the last
// two has partRows rows. The last part has 0 rows, no body, and the number of all rows as its first
// row. A file without a part of 0 rows is cut off.
const (
	codesName, partName = "rfcodes\x00", "rfrows\x00\x00"

	codesVersion = 3
	headSize     = 16
	partHead     = 32
	partTail     = 8
	partBytes    = 1 << 22
)

// partRows returns the number of rows of a part. A part has at least 64 rows per centre, so that
// View makes few small blocks.
func partRows(l layout) int {
	n := max(partBytes/l.bytes(), 1)
	if l.centred() {
		return max(n, 64*l.clusters)
	}
	return n
}

// littleEndian reports whether memory has the byte order of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// inBytes returns the memory of numbers as bytes.
func inBytes[E any](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(E))))
}

// swap reverses the bytes of each number of the given size on big-endian machines.
func swap(b []byte, size int) {
	if littleEndian {
		return
	}
	for ; len(b) > 0; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}

// padding returns the number of zeros that pad n bytes.
func padding(n int) int { return -n & 7 }

func (c *codes[T]) WriteTo(w io.Writer) (int64, error) {
	if w == nil {
		return 0, errNil("w")
	}
	quantiser, err := c.q.MarshalBinary()
	if err != nil {
		return 0, err
	}
	out := output{w: bufio.NewWriterSize(w, 1<<16)}
	out.name(codesName)
	put(&out, []uint32{codesVersion, uint32(len(quantiser))})
	out.bytes(quantiser)
	out.pad()
	out.seal()
	all, l := c.rows(), c.q.layout
	for from, step := 0, partRows(l); from < all.n && out.err == nil; from += step {
		out.part(all, from, min(from+step, all.n), l)
	}
	out.head(all.n, 0)
	err = cmp.Or(out.err, out.w.Flush())
	return out.n - int64(out.w.Buffered()), err
}

// part writes rows [from, to).
func (o *output) part(all *rows, from, to int, l layout) {
	o.head(from, to-from)
	for at := from; l.centred() && at < to; {
		few := all.labels[at/labelled][at%labelled:]
		few = few[:min(len(few), to-at)]
		put(o, few)
		at += len(few)
	}
	each := func(f func(b *block, lo, hi int)) {
		for _, one := range all.clusters {
			one.each(one.before(from), one.before(to), f)
		}
	}
	for k, has := range l.has {
		if has {
			each(func(b *block, lo, hi int) { put(o, b.numbers[k][lo:hi]) })
		}
	}
	if l.signWords > 0 {
		each(func(b *block, lo, hi int) { put(o, b.signs.numbers[ratios][lo:hi]) })
	}
	o.pad()
	each(func(b *block, lo, hi int) { put(o, b.words[lo*l.words:hi*l.words]) })
	if l.signWords > 0 {
		each(func(b *block, lo, hi int) { put(o, b.signs.words[lo*l.signWords:hi*l.signWords]) })
	}
	o.seal()
}

// output writes to w and sums the bytes for a checksum.
type output struct {
	w   *bufio.Writer
	n   int64  // the number of bytes that w has taken
	sum uint32 // the checksum of the bytes of a part
	err error  // the first error of w
}

func (o *output) bytes(b []byte) {
	if o.err != nil {
		return
	}
	var n int
	n, o.err = o.w.Write(b)
	o.n += int64(n)
	o.sum = crc32.Update(o.sum, frame.Castagnoli, b)
}

func (o *output) name(s string) {
	o.sum = 0
	o.bytes([]byte(s))
}

func (o *output) pad() { o.bytes(make([]byte, padding(int(o.n&7)))) }

// seal writes the checksum of a part.
func (o *output) seal() { put(o, []uint32{o.sum, 0}) }

// head writes the head of a part.
func (o *output) head(first, n int) {
	o.name(partName)
	put(o, []uint64{uint64(first), uint64(n)})
	put(o, []uint32{0})
	put(o, []uint32{o.sum})
}

// put writes numbers.
func put[E any](o *output, x []E) {
	if littleEndian {
		o.bytes(inBytes(x))
		return
	}
	var few [512]E
	for len(x) > 0 && o.err == nil {
		n := copy(few[:], x)
		b := inBytes(few[:n])
		swap(b, int(unsafe.Sizeof(few[0])))
		o.bytes(b)
		x = x[n:]
	}
}
