package ridge

import (
	"encoding"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/fingerprint"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

type sumsRecipe struct {
	D             int       // dimension of points
	Marks         []float64 // that identify the features
	Rows          int
	EffectiveRows float64
	RowWeight     float64               // Σω
	LogWeight     float64               // Σ log ω
	TargetMean    []float64             // ȳ
	Squares       []float64             // Σω(y − ȳ)²
	FeatureMean   []float64             // φ̄
	Cross         dense.Matrix[float64] // Σω(φ − φ̄)(y − ȳ)ᵀ
	Scatter       []float64             // Σω(φ − φ̄)(φ − φ̄)ᵀ, the lower triangle row by row
}

var (
	_ encoding.BinaryMarshaler   = (*Sums[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*Sums[float64])(nil)
)

// MarshalBinary returns the Sums as a safetensors file, without the feature map, of about 4·D² +
// 8·D·p bytes for D features and p targets.
func (s *Sums[T]) MarshalBinary() ([]byte, error) {
	if s.phi == nil {
		return nil, errors.New("ridge: the Sums are zero, want those of NewSums")
	}
	r := sumsRecipe{
		D: s.d, Marks: s.marks(), Rows: s.n, EffectiveRows: s.rows, RowWeight: s.weight, LogWeight: s.logWeight,
		TargetMean: s.targets, Squares: s.squares, FeatureMean: s.mean, Cross: s.cross,
		Scatter: make([]float64, 0, triangular(len(s.mean))),
	}
	for i := range s.mean {
		r.Scatter = append(r.Scatter, s.square.row(i)...)
	}
	return archive.Marshal[T]("ridge", "sums", r)
}

func triangular(n int) int { return n * (n + 1) / 2 }

// UnmarshalBinary replaces the receiver s by the Sums that data encodes. The receiver s must come
// from NewSums for the element type, feature map and number of outputs of the encoded Sums.
// UnmarshalBinary returns an error and keeps s if bytes are damaged, or if the encoded Sums have
// another type, number of outputs, or features at a few points. The checksum in data detects
// damage, not forgery; forged Sums are at worst wrong. UnmarshalBinary allocates memory in
// proportion to the length of data.
func (s *Sums[T]) UnmarshalBinary(data []byte) error {
	r, err := archive.Unmarshal[T, sumsRecipe](data, "ridge", "sums")
	if err != nil {
		return err
	}
	width, outputs := len(s.mean), len(s.targets)
	full := r.Rows > 0
	switch {
	case r.D != s.d || len(r.FeatureMean) != width || len(r.TargetMean) != outputs:
		return fmt.Errorf("ridge: sums of features R^%d → R^%d and %d outputs, want R^%d → R^%d and %d", r.D, len(r.FeatureMean), len(r.TargetMean), s.d, width, outputs)
	case len(r.Marks) != width || len(r.Squares) != outputs || r.Cross.Rows != width || r.Cross.Cols != outputs || len(r.Scatter) != triangular(width):
		return fmt.Errorf("ridge: sums of %d marks, %d squares, %d×%d cross and %d scatter, for %d features and %d outputs", len(r.Marks), len(r.Squares), r.Cross.Rows, r.Cross.Cols, len(r.Scatter), width, outputs)
	case r.Rows < 0 || r.Rows > limit.Tokens:
		return fmt.Errorf("ridge: sums of %d rows, want 0 to %d", r.Rows, limit.Tokens)
	case !(r.RowWeight >= 0) || math.IsInf(r.RowWeight, 0) || full != (r.RowWeight > 0):
		return fmt.Errorf("ridge: sums of %d rows with the weight %v", r.Rows, r.RowWeight)
	case !(r.EffectiveRows >= 0) || math.IsInf(r.EffectiveRows, 0) || full != (r.EffectiveRows > 0):
		return fmt.Errorf("ridge: sums of %d rows that stand for %v", r.Rows, r.EffectiveRows)
	}
	if err := fingerprint.Check[T](s.marks(), r.Marks); err != nil {
		return wrap(err)
	}
	s.n, s.rows, s.weight, s.logWeight = r.Rows, r.EffectiveRows, r.RowWeight, r.LogWeight
	s.targets, s.squares, s.mean, s.cross = r.TargetMean, r.Squares, r.FeatureMean, r.Cross
	for i := range width {
		copy(s.square.row(i), r.Scatter[triangular(i):])
	}
	return nil
}
