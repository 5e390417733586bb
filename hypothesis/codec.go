package hypothesis

import (
	"encoding"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// The bytes of Cells, with all numbers little endian, are the header of package frame with the name
// "rfcells" and a zero, version 1, the size of an element of the features, and the words
//
//	d, dimension of points
//	D, number of features
//	rows of a cell
//	0
//	0
//
// and the number of cells, then in float64
//
//	D             fingerprint of the features
//	each (D + 2)  cells, then the rows outside cells, then the rows of the cell that is being filled:
//	              number of rows, Σ‖φ − mean‖², mean
//
// and at the end, as a uint32, the CRC-32C of all bytes before it.
const (
	cellsName    = "rfcells\x00"
	cellsVersion = 1
)

var (
	_ encoding.BinaryMarshaler   = (*Cells[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*Cells[float64])(nil)
)

// MarshalBinary encodes the cells as bytes, in 8·D bytes per cell and a few more. Every
// architecture can read the bytes.
func (c *Cells[T]) MarshalBinary() ([]byte, error) {
	if c.phi == nil {
		return nil, errNoCells
	}
	b := c.header().Append(nil)
	b = frame.AppendElements(b, c.marks())
	for _, g := range append(c.cells[:len(c.cells):len(c.cells)], c.rest, c.part) {
		if g == nil {
			g = c.none()
		}
		b = frame.AppendElements(b, []float64{g.rows, g.squares})
		b = frame.AppendElements(b, g.mean)
	}
	return frame.Seal(b, 0), nil
}

// UnmarshalBinary replaces the content of c by the cells in data. Make c by NewCells with the same
// type, map and size. c keeps its limit of cells. UnmarshalBinary compares the features by their
// values at a few points. UnmarshalBinary returns an error, and leaves c unchanged, if the type,
// map or size differ, if data has more cells than the limit, or if data is damaged. The checksum
// finds damage, not forgery. The memory is proportional to the length of data.
func (c *Cells[T]) UnmarshalBinary(data []byte) error {
	if c.phi == nil {
		return errNoCells
	}
	group := 8 * (2 + c.width)
	count, body, err := c.header().Open(data, frame.HeaderSize+8*c.width+2*group+frame.TrailerSize, group)
	if err != nil {
		return fmt.Errorf("hypothesis: %w", err)
	}
	marks := make([]float64, c.width)
	body = frame.ReadElements(marks, body)
	if err := frame.CheckMarks[T](c.marks(), marks); err != nil {
		return fmt.Errorf("hypothesis: %w", err)
	}
	if count > c.most {
		return fmt.Errorf("hypothesis: %d cells, want at most %d", count, c.most)
	}
	read := Cells[T]{phi: c.phi, d: c.d, width: c.width, size: c.size, most: c.most, prints: c.prints}
	for i := range count + 2 {
		g := read.none()
		numbers := make([]float64, 2)
		body = frame.ReadElements(numbers, body)
		body = frame.ReadElements(g.mean, body)
		g.rows, g.squares = numbers[0], numbers[1]
		least, most := float64(c.size), float64(c.size)
		switch i {
		case count:
			least, most = 0, min(1<<52, frame.MaxTokens)
			read.rest = g
		case count + 1:
			least, most = 0, float64(c.size-1)
			read.part = g
		default:
			read.cells = append(read.cells, g)
		}
		if !(g.rows >= least && g.rows <= most) || g.rows != math.Trunc(g.rows) || !(g.squares >= 0) || math.IsInf(g.squares, 1) {
			return fmt.Errorf("hypothesis: %v rows with the squares %v, want %v to %v rows", g.rows, g.squares, least, most)
		}
		for j, v := range g.mean {
			if v-v != 0 {
				return fmt.Errorf("hypothesis: feature %d of %v rows has the mean %v, want a finite number", j, g.rows, v)
			}
		}
		if err := frame.CheckAppend(read.rows, int(g.rows)); err != nil {
			return fmt.Errorf("hypothesis: %w", err)
		}
		read.rows += int(g.rows)
	}
	if read.part.rows == 0 {
		read.part = nil
	}
	*c = read
	return nil
}

func (c *Cells[T]) header() frame.Header {
	return frame.Header{
		Name: cellsName, Version: cellsVersion, ElementSize: frame.ElementSize[T](), FlagNames: "none",
		Words: [...]frame.Word{
			{Name: "d", Value: c.d}, {Name: "D", Value: c.width}, {Name: "rows of a cell", Value: c.size},
			{Name: "reserved word"}, {Name: "reserved word"},
		},
		Tokens: len(c.cells),
	}
}
