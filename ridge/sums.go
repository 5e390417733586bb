package ridge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
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
// Features and their products are numbers of T. Products of 4096 rows at most are summed in T, 256
// rows after another, and these sums in float64: with Σ|terms| of those rows, the error of a sum in
// T is at most (256 + 16)·u·Σ|terms|, u = 2⁻²⁴ or 2⁻⁵³, and some √272·u·Σ|terms| as a rule.
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
	spare  []*part[T] // memory of Add
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
// Features are formed 256 rows at a time, and never those of all rows. Each goroutine sums 4096
// rows by itself where there are enough of them for all goroutines. Cost: n transforms and n·D²/2
// multiply-adds, on up to GOMAXPROCS goroutines, and memory for D²/2 numbers of T for each. The sums
// do not depend on GOMAXPROCS.
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
	if square, ok := any(s.square).(triangle[T]); ok && x.Rows <= partRows {
		// T is float64, and one sum is as good as two.
		s.reserve(1)
		s.spare[0].add(s, square, x, y, weights)
		s.take(s.spare[0])
		return nil
	}
	for lo := 0; lo < x.Rows; {
		count := s.together(x.Rows - lo)
		s.reserve(count)
		parallel.Pieces(count, func(i int) {
			first, last := lo+i*partRows, min(lo+(i+1)*partRows, x.Rows)
			var w []T
			if weights != nil {
				w = weights[first:last]
			}
			p := s.spare[i]
			if p.square.n == 0 {
				p.square = newTriangle[T](s.width)
			}
			clear(p.square.data)
			p.add(s, p.square, x.RowRange(first, last), y.RowRange(first, last), w)
		})
		for _, p := range s.spare[:count] {
			s.take(p)
			add(s.square, 1, p.square)
		}
		lo += count * partRows
	}
	return nil
}

// together returns the number of parts that are summed at the same time, each on a goroutine of its
// own. With few rows or large triangles it is one, whose products are shared among goroutines; the
// sums are the same.
func (s *Sums[T]) together(rows int) int {
	const bytes = 1 << 26 // of triangles
	count := min(parallel.Idle()+1, bytes/(len(s.square.data)*stream.ElementSize[T]()))
	if rows < count*partRows {
		return 1
	}
	return max(1, count)
}

// reserve makes room for parts.
func (s *Sums[T]) reserve(count int) {
	for len(s.spare) < count {
		s.spare = append(s.spare, new(part[T]))
	}
}

// take adds the sums of a part but for the triangle.
func (s *Sums[T]) take(p *part[T]) {
	s.n += p.n
	s.weight += p.weight
	s.logWeight += p.logWeight
	for j := range s.targets {
		s.targets[j] += p.targets[j]
		s.squares[j] += p.squares[j]
	}
	for f := range s.features {
		s.features[f] += p.features[f]
		for j, v := range p.cross.Row(f) {
			s.cross.Data[f*s.cross.Stride+j] += v
		}
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
	c.cross, c.square, c.spare = s.cross.Clone(), s.square.clone(), nil
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
