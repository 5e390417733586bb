package ridge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/stream"
	"github.com/seed-feabd252/randfeat/rff"
)

// Sums are all that regression needs to know of its rows: with the features φ_i of the point x_i,
// the targets y_i ∈ R^p and the weights ω_i, 1 unless given,
//
//	n,  Σω_i,  Σ log ω_i,  Σω_i·φ_i·φ_iᵀ (one triangle),  Σω_i·φ_i·y_iᵀ,  Σω_i·y_ij²,  Σω_i·φ_i,  Σω_i·y_i.
//
// They take D²/2 + D·p numbers of float64 however many rows there are, and sums of different rows
// can be merged. Targets are summed relative to the first row, so that a large mean costs no digits.
//
// In float64 all products are summed in float64. In float32 features are float32; products of some
// thousand rows are summed in float32, and these sums in float64.
//
// Other orders and groups of rows change the rounding of sums and nothing else. A Sums belongs to
// one goroutine.
type Sums[T dense.Float] struct {
	phi      rff.Map[T]
	d, width int // of points and of features
	outputs  int

	n         int
	weight    float64 // Σω
	logWeight float64 // Σ log ω
	origin    []float64
	features  []float64             // Σωφ
	targets   []float64             // Σω(y − origin)
	squares   []float64             // Σω(y − origin)²
	cross     dense.Matrix[float64] // Σωφ(y − origin)ᵀ
	square    triangle[float64]     // Σωφφᵀ

	prints *stream.Fingerprint
	space  space[T]
}

// space is the memory of Add.
type space[T dense.Float] struct {
	phi, extra scratch.Buffer[T]
	sum        dense.Matrix[T]
	square     triangle[T] // sums of products of the last rows, if T is float32
	rows       int         // those rows
}

// NewSums returns the sums of no rows, for the features of phi and for targets of p = outputs
// numbers a row.
//
// An error reports a nil phi, outputs below 1, and sums that no memory holds.
func NewSums[T dense.Float](phi rff.Map[T], outputs int) (*Sums[T], error) {
	if phi == nil {
		return nil, errNoMap
	}
	d, width := phi.Dims()
	if d < 1 || width < 1 {
		return nil, fmt.Errorf("ridge: phi maps R^%d to R^%d, want at least 1 and 1", d, width)
	}
	if outputs < 1 {
		return nil, fmt.Errorf("ridge: outputs = %d, want at least 1", outputs)
	}
	if err := checkTriangle(width); err != nil {
		return nil, fmt.Errorf("ridge: sums of %d features: %w", width, err)
	}
	if err := limit.Memory[float64](width, outputs); err != nil {
		return nil, fmt.Errorf("ridge: sums of %d features and %d outputs: %w", width, outputs, err)
	}
	s := &Sums[T]{phi: phi, d: d, width: width, outputs: outputs, prints: new(stream.Fingerprint)}
	s.clear()
	return s, nil
}

// clear makes s the sums of no rows.
func (s *Sums[T]) clear() {
	s.n, s.weight, s.logWeight = 0, 0, 0
	s.origin, s.targets, s.squares = make([]float64, s.outputs), make([]float64, s.outputs), make([]float64, s.outputs)
	s.features = make([]float64, s.width)
	s.cross = dense.New[float64](s.width, s.outputs)
	s.square = newTriangle[float64](s.width)
}

// Rows returns n, the number of rows with a weight above 0.
func (s *Sums[T]) Rows() int { return s.n }

// Outputs returns p, the number of targets of a row.
func (s *Sums[T]) Outputs() int { return s.outputs }

// Map returns the map of the features.
func (s *Sums[T]) Map() rff.Map[T] { return s.phi }

// Add adds rows: points x (n×d), their targets y (n×p) and their weights, all 1 if nil. A weight ω
// says that the noise of the row has the variance σ²/ω; a row of weight 0 does not count.
//
// Features are formed some hundred rows at a time, and never those of all rows. Cost: n
// transforms and n·D²/2 multiply-adds, on up to GOMAXPROCS goroutines. The sums do not depend on
// GOMAXPROCS.
//
// An error reports shapes that do not fit, a point or a target that is NaN or infinite, and a
// weight that is negative, NaN or infinite, by its row. The sums then are as before. Features that
// overflow make the sums infinite or NaN, and Fit reports them.
func (s *Sums[T]) Add(x, y dense.Matrix[T], weights []T) error {
	if err := s.check(x, y, weights); err != nil {
		return err
	}
	if x.Rows == 0 {
		return nil
	}
	if s.n == 0 && s.weight == 0 {
		for j := range s.origin {
			s.origin[j] = float64(y.At(0, j))
		}
	}
	block := s.blockRows()
	for lo := 0; lo < x.Rows; lo += block {
		hi := min(lo+block, x.Rows)
		var w []T
		if weights != nil {
			w = weights[lo:hi]
		}
		s.addBlock(x.RowRange(lo, hi), y.RowRange(lo, hi), w)
	}
	s.settle()
	return nil
}

// blockRows returns the number of rows whose features are formed together: those that stay in the
// second cache, and no fewer than a matrix product sums at a time.
func (s *Sums[T]) blockRows() int {
	const bytes, least, most = 1 << 20, 256, 2048
	rows := bytes / (s.width * stream.ElementSize[T]())
	return min(max(rows/least*least, least), most)
}

// singleRows is the number of rows whose products are summed in float32.
const singleRows = 1 << 12

// addSquare adds the products of features.
func (s *Sums[T]) addSquare(phi dense.Matrix[T]) {
	if double, ok := any(phi).(dense.Matrix[float64]); ok {
		s.square.addSquare(double)
		return
	}
	if s.space.square.n == 0 {
		s.space.square = newTriangle[T](s.width)
	}
	s.space.square.addSquare(phi)
	if s.space.rows += phi.Rows; s.space.rows >= singleRows {
		s.settle()
	}
}

// settle adds the sums of float32 to those of float64.
func (s *Sums[T]) settle() {
	if s.space.rows > 0 {
		add(s.square, 1, s.space.square)
		clear(s.space.square.data)
		s.space.rows = 0
	}
}

// check returns an error unless the rows can be added.
func (s *Sums[T]) check(x, y dense.Matrix[T], weights []T) error {
	if err := checkRows(x, y, weights, s.d, s.outputs); err != nil {
		return err
	}
	return wrap(stream.CheckAppend(s.n, x.Rows))
}

// checkRows returns an error unless x is n×d, y is n×p, weights is nil or has n elements, and all
// of them are finite and weights not negative.
func checkRows[T dense.Float](x, y dense.Matrix[T], weights []T, d, outputs int) error {
	x.Check()
	y.Check()
	switch {
	case x.Cols != d:
		return fmt.Errorf("ridge: x is %d×%d, want %d columns", x.Rows, x.Cols, d)
	case y.Rows != x.Rows || y.Cols != outputs:
		return fmt.Errorf("ridge: y is %d×%d, want %d×%d", y.Rows, y.Cols, x.Rows, outputs)
	case weights != nil && len(weights) != x.Rows:
		return fmt.Errorf("ridge: %d weights for %d rows", len(weights), x.Rows)
	}
	if err := checkFinite("x", x); err != nil {
		return err
	}
	if err := checkFinite("y", y); err != nil {
		return err
	}
	for i, v := range weights {
		if !(v >= 0) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("ridge: weights[%d] = %v, want a finite number from 0 on", i, v)
		}
	}
	return nil
}

// checkFinite returns an error that names the first element that is NaN or infinite.
func checkFinite[T dense.Float](name string, x dense.Matrix[T]) error {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("ridge: %s[%d][%d] = %v, want a finite number", name, i, j, v)
			}
		}
	}
	return nil
}

// wrap returns err as an error of this package.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ridge: %w", err)
}

// addBlock adds few rows. Features and targets are scaled by the roots of the weights, so that one
// square has the products of all.
func (s *Sums[T]) addBlock(x, y dense.Matrix[T], weights []T) {
	s.space.phi.Shape(x.Rows, s.width)
	s.space.extra.Shape(x.Rows, s.outputs+1)
	phi, extra := s.phi.Transform(s.space.phi.Rows(x.Rows), x), s.space.extra.Rows(x.Rows)
	for i := range x.Rows {
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		if w > 0 {
			s.n++
			s.logWeight += math.Log(w)
		}
		s.weight += w
		row, root := extra.Row(i), T(math.Sqrt(w))
		for j, v := range y.Row(i) {
			e := float64(v) - s.origin[j]
			s.targets[j] += w * e
			s.squares[j] += w * e * e
			row[j] = root * T(e)
		}
		row[s.outputs] = root
		if weights != nil {
			scaleRow(phi.Row(i), root)
		}
	}
	s.addSquare(phi)

	s.space.sum = resize(s.space.sum, s.outputs+1, s.width)
	matmul.TMul(1, extra, phi, 0, s.space.sum)
	for j := range s.outputs {
		for f, v := range s.space.sum.Row(j) {
			s.cross.Data[f*s.cross.Stride+j] += float64(v)
		}
	}
	for f, v := range s.space.sum.Row(s.outputs) {
		s.features[f] += float64(v)
	}
}

// scaleRow multiplies the features of a row by the root of its weight. The features of a row that
// does not count may be infinite.
func scaleRow[T dense.Float](row []T, root T) {
	if root == 0 {
		clear(row)
		return
	}
	for j := range row {
		row[j] *= root
	}
}

// resize returns an r×c matrix, x if that has the shape.
func resize[T dense.Float](x dense.Matrix[T], r, c int) dense.Matrix[T] {
	if x.Rows == r && x.Cols == c {
		return x
	}
	return dense.New[T](r, c)
}

// Merge adds the rows of other, which is not changed. An error reports sums of other features or of
// another number of outputs; s then is as before. Cost: D²/2 additions.
func (s *Sums[T]) Merge(other *Sums[T]) error {
	if err := s.checkSame(other); err != nil {
		return err
	}
	if err := stream.CheckMerge(s.n, other.n); err != nil {
		return wrap(err)
	}
	if s.n == 0 && s.weight == 0 {
		copy(s.origin, other.origin)
	}
	s.combine(1, other)
	return nil
}

// Subtract takes the rows of other away, which s has taken in before: the sums of all rows without
// a fold are those of the other folds. An error reports sums of other features, of another number
// of outputs or of more rows than s has; s then is as before. Subtract is as Merge otherwise; it
// rounds at the size of the larger sums.
func (s *Sums[T]) Subtract(other *Sums[T]) error {
	if err := s.checkSame(other); err != nil {
		return err
	}
	if other.n > s.n {
		return fmt.Errorf("ridge: cannot subtract %d rows from %d", other.n, s.n)
	}
	s.combine(-1, other)
	if s.n == 0 {
		s.clear() // of roundings
	}
	return nil
}

// combine adds f times the sums of other. With δ = other.origin − s.origin, y − s.origin is y −
// other.origin + δ.
func (s *Sums[T]) combine(f float64, other *Sums[T]) {
	s.n += int(f) * other.n
	for j := range s.origin {
		delta := other.origin[j] - s.origin[j]
		s.squares[j] += f * (other.squares[j] + delta*(2*other.targets[j]+delta*other.weight))
		s.targets[j] += f * (other.targets[j] + delta*other.weight)
		for i, v := range other.features {
			s.cross.Data[i*s.cross.Stride+j] += f * (other.cross.At(i, j) + delta*v)
		}
	}
	s.weight += f * other.weight
	s.logWeight += f * other.logWeight
	for i, v := range other.features {
		s.features[i] += f * v
	}
	add(s.square, f, other.square)
}

// Clone returns a copy of s with memory of its own.
func (s *Sums[T]) Clone() *Sums[T] {
	c := *s
	c.origin, c.features, c.targets, c.squares = slices.Clone(s.origin), slices.Clone(s.features), slices.Clone(s.targets), slices.Clone(s.squares)
	c.cross, c.square, c.space = s.cross.Clone(), s.square.clone(), space[T]{}
	return &c
}

// checkSame returns an error unless other has the features and outputs of s.
func (s *Sums[T]) checkSame(other *Sums[T]) error {
	switch {
	case other == nil:
		return errors.New("ridge: other is nil, want sums")
	case other.width != s.width || other.d != s.d:
		return fmt.Errorf("ridge: other has features R^%d → R^%d, want R^%d → R^%d", other.d, other.width, s.d, s.width)
	case other.outputs != s.outputs:
		return fmt.Errorf("ridge: other has %d outputs, want %d", other.outputs, s.outputs)
	case other.prints == s.prints:
		return nil
	}
	return wrap(stream.CheckMarks[T](s.marks(), other.marks()))
}

// marks tell the features of s from others.
func (s *Sums[T]) marks() []float64 {
	return stream.Of(s.prints, s.d, s.width, s.phi.Transform)
}
