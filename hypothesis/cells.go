package hypothesis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/fingerprint"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Cells holds one sample for a two-sample test as the mean features of cells: a cell is a group of
// a fixed number of rows, and takes 8·D bytes for D features. Compare permutes groups of rows, not
// single rows, and yet rejects a true null hypothesis at the level α with at most the probability
// α. Rows that are in no full cell enter the mean of the sample, but no permutation of Compare
// moves such rows. A Cells may be used by one goroutine at a time.
type Cells[T dense.Float] struct {
	phi      rff.Map[T]
	d, width int // of phi
	size     int // rows of a cell
	maxCells int
	rows     int
	cells    []*group
	open     *group // the cell with fewer than size rows, or nil
	outside  *group // the rows outside cells

	prints *fingerprint.Print
}

type group struct {
	rows    float64
	mean    []float64
	squares float64 // Σ‖φ − mean‖²
}

// addRow adds the features of a row to g, with the updates of [Chan et al. 1983].
func addRow[T dense.Float](g *group, phi []T) {
	g.rows++
	before := (g.rows - 1) / g.rows
	square := 0.0
	for j, v := range phi {
		step := float64(v) - g.mean[j]
		g.mean[j] += step / g.rows
		square += step * step
	}
	g.squares += before * square
}

func (g *group) join(o *group) {
	if o == nil || o.rows == 0 {
		return
	}
	share, square := o.rows/(g.rows+o.rows), 0.0
	for j, v := range o.mean {
		step := v - g.mean[j]
		g.mean[j] += share * step
		square += step * step
	}
	g.squares += o.squares + g.rows*share*square
	g.rows += o.rows
}

// NewCells returns empty Cells for the features of phi, with size rows in a cell and at most
// maxCells cells. With some 500 cells in each sample, a two-sample test has about the power of one
// that permutes single rows. NewCells returns an error for a nil phi, and for size or maxCells
// below 1 or too large for memory.
func NewCells[T dense.Float](phi rff.Map[T], size, maxCells int) (*Cells[T], error) {
	d, width, err := dims("phi", phi)
	if err != nil {
		return nil, err
	}
	if size < 1 || size > limit.Repeats {
		return nil, fmt.Errorf("hypothesis: size = %d rows of a cell, want 1 to %d", size, limit.Repeats)
	}
	if maxCells < 1 {
		return nil, fmt.Errorf("hypothesis: maxCells = %d, want at least 1", maxCells)
	}
	if err := limit.Memory[float64](maxCells, width); err != nil {
		return nil, fmt.Errorf("hypothesis: %d cells of %d features: %w", maxCells, width, err)
	}
	return &Cells[T]{
		phi: phi, d: d, width: width, size: size, maxCells: maxCells,
		outside: newGroup(width), prints: new(fingerprint.Print),
	}, nil
}

func dims[T dense.Float](name string, phi rff.Map[T]) (d, width int, err error) {
	if phi == nil {
		return 0, 0, fmt.Errorf("hypothesis: %s is nil, want a feature map", name)
	}
	if d, width = phi.Dims(); d < 1 || width < 1 {
		return 0, 0, fmt.Errorf("hypothesis: %s maps R^%d to R^%d, want at least 1 and 1", name, d, width)
	}
	return d, width, nil
}

// Rows returns the number of rows that have been added to the Cells.
func (c *Cells[T]) Rows() int { return c.rows }

// Count returns the number of full cells, the groups of rows that permutations of Compare move.
func (c *Cells[T]) Count() int { return len(c.cells) }

// Add adds the rows of x (n×d) to the sample in a random order, so that sorted rows in one call of
// Add do no harm. The two-sample test loses power if rows are sorted from call to call of Add, as
// parts of a sorted file are; see docs/regression.md.
//
// Add returns an error for zero Cells, an x whose number of columns is not the dimension of points
// of the feature map, an element of x or a feature that is not finite, and a nil src. After an
// error of Add for a feature that is not finite, some rows of x may have been added; after every
// other error, none. Add of n rows costs n feature transforms, and n·D operations for D features.
func (c *Cells[T]) Add(x dense.Matrix[T], src rand.Source) error {
	return c.add(context.Background(), "x", x, src)
}

// After an error of ctx, some of the rows have been added.
func (c *Cells[T]) add(ctx context.Context, name string, x dense.Matrix[T], src rand.Source) error {
	if c.phi == nil {
		return errNoCells
	}
	if err := checkSample(name, x, c.d, src); err != nil {
		return err
	}
	if err := limit.CheckAppend(c.rows, x.Rows); err != nil {
		return fmt.Errorf("hypothesis: %w", err)
	}
	order := rand.New(src).Perm(x.Rows)
	var phi dense.Matrix[T]
	for lo := 0; lo < len(order); lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := layout.Rows(x, order[lo:min(lo+blockRows, len(order))])
		if phi.Rows != block.Rows {
			phi = dense.New[T](block.Rows, c.width)
		}
		c.phi.Transform(phi, block)
		if err := checkFeatures(name, phi, func(i int) int { return order[lo+i] }); err != nil {
			return err
		}
		for i := range phi.Rows {
			c.append(phi.Row(i))
		}
	}
	return nil
}

const blockRows = 256

var (
	errNoCells  = errors.New("hypothesis: the Cells are zero, want those of NewCells")
	errNoSource = errors.New("hypothesis: src is nil, want a source of randomness")
)

// row returns the index in the sample of a row of phi.
func checkFeatures[T dense.Float](name string, phi dense.Matrix[T], row func(i int) int) error {
	for i := range phi.Rows {
		for j, v := range phi.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("hypothesis: feature %d of row %d of %s is %v, want a finite number: scale the rows", j, row(i), name, v)
			}
		}
	}
	return nil
}

func checkSample[T dense.Float](name string, x dense.Matrix[T], d int, src rand.Source) error {
	x.Check()
	if x.Cols != d {
		return fmt.Errorf("hypothesis: %s is %d×%d, want %d columns", name, x.Rows, x.Cols, d)
	}
	if src == nil {
		return errNoSource
	}
	return argument.Finite("hypothesis: "+name, x)
}

func (c *Cells[T]) append(phi []T) {
	c.rows++
	if len(c.cells) == c.maxCells {
		addRow(c.outside, phi)
		return
	}
	if c.open == nil {
		c.open = newGroup(c.width)
	}
	if addRow(c.open, phi); int(c.open.rows) == c.size {
		c.cells, c.open = append(c.cells, c.open), nil
	}
}

func newGroup(width int) *group { return &group{mean: make([]float64, width)} }

// Merge adds to the receiver c the cells of the argument other, which holds further rows of the
// sample of c, for example of another file. Merge changes only the receiver. Cells beyond the limit
// maxCells of the receiver enter the mean of the sample, but no permutation moves them. Merge
// returns an error if the receiver c and the argument other have different feature maps, or cells
// (groups of rows with one mean) of different numbers of rows.
func (c *Cells[T]) Merge(other *Cells[T]) error {
	if err := c.checkSame("other", other); err != nil {
		return err
	}
	if err := limit.CheckMerge(c.rows, other.rows); err != nil {
		return fmt.Errorf("hypothesis: %w", err)
	}
	take := min(len(other.cells), c.maxCells-len(c.cells))
	for _, g := range append([]*group{other.outside, other.open}, other.cells[take:]...) {
		c.outside.join(g)
	}
	c.cells = append(c.cells, other.cells[:take]...)
	if len(c.cells) == c.maxCells {
		c.outside.join(c.open)
		c.open = nil
	}
	c.rows += other.rows
	return nil
}

func (c *Cells[T]) checkSame(name string, other *Cells[T]) error {
	switch {
	case c == nil || c.phi == nil || other == nil || other.phi == nil:
		return errNoCells
	case other.d != c.d || other.width != c.width:
		return fmt.Errorf("hypothesis: %s has features R^%d → R^%d, want R^%d → R^%d", name, other.d, other.width, c.d, c.width)
	case other.size != c.size:
		return fmt.Errorf("hypothesis: %s has %d rows in a cell, want %d", name, other.size, c.size)
	}
	if err := fingerprint.Check[T](c.marks(), other.marks()); err != nil {
		return fmt.Errorf("hypothesis: %w", err)
	}
	return nil
}

func (c *Cells[T]) marks() []float64 {
	return fingerprint.Marks(c.prints, c.d, c.width, c.phi.Transform)
}

func (c *Cells[T]) whole() *group {
	all := newGroup(c.width)
	for _, g := range append([]*group{c.outside, c.open}, c.cells...) {
		all.join(g)
	}
	return all
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}
