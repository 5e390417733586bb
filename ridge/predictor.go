package ridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// Predictor predicts one row at a time. The variance of a row is
//
//	(φ − φ̄)ᵀA⁻¹(φ − φ̄) = ‖R⁻ᵀ(φ − φ̄)‖²,  A = RᵀR.
//
// A Predictor stores R⁻ᵀ in 2·D² bytes of float32 and multiplies by it, while Model.Predict solves
// a system. A Predictor never changes, and goroutines may share it.
type Predictor[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	core   *predictor
}

// predictor is the part of a Predictor that does not depend on T.
type predictor struct {
	features.Regression
	Inverse []float32 // lower triangle of R⁻ᵀ, row by row
}

// Predictor returns a predictor of the model. Cost: D³/6 multiply-adds, and temporary memory for D²
// numbers.
//
// The rounding of R⁻ᵀ to float32 changes the variance of a target by a factor of at most about 1 ±
// 2⁻²³·‖φ − φ̄‖·√(max_i (A⁻¹)_ii), if rounding errors are independent. The error reports a model
// whose variances may change by more than a factor of 1 ± 2⁻¹⁰ for features of norm 1. Only a model
// with a ratio Noise/Prior below 10⁻⁷ is one. The error also reports a zero model and the end of
// ctx. A nil ctx panics.
func (m *Model[T]) Predictor(ctx context.Context) (*Predictor[T], error) {
	if m.phi == nil {
		return nil, errNoModel
	}
	s, err := m.newPredictor(ctx)
	if err != nil {
		return nil, err
	}
	return &Predictor[T]{m.phi, m.source, s}, nil
}

func (p *posterior) newPredictor(ctx context.Context) (*predictor, error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	d := p.regression.Weights.Rows
	if err := limit.Memory[float32](d, d+1); err != nil {
		return nil, fmt.Errorf("ridge: the inverse of %d features: %w", d, err)
	}
	s := &predictor{p.regression, make([]float32, d*(d+1)/2)}
	diagonal := make([]float64, d) // of A⁻¹
	err := p.factor.Invert(ctx, func(lo int, columns dense.Matrix[float64]) {
		for i := lo; i < d; i++ {
			row := s.Inverse[i*(i+1)/2:][:i+1]
			for j, v := range columns.Row(i)[:min(columns.Cols, i+1-lo)] {
				row[lo+j] = float32(v)
				diagonal[lo+j] += v * v
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if share := 0x1p-23 * math.Sqrt(slices.Max(diagonal)); !(share <= 0x1p-10) {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g lets float32 round variances by a share of %.2g, want at most 0.001: use Predict", p.regression.Ratio, share)
	}
	return s, nil
}

// Dims returns the numbers of inputs and outputs of the model.
func (s *Predictor[T]) Dims() (in, out int) {
	s.check()
	d, _ := s.phi.Dims()
	return d, s.core.Weights.Cols
}

// Mean writes the means of targets at x (d numbers) into dst and returns dst. Mean allocates a nil
// dst. The means are those of Model.Mean. Cost: a transform and D·p multiply-adds. Mean panics if a
// length does not fit.
func (s *Predictor[T]) Mean(dst, x []T) []T {
	r := s.begin(x)
	dst = s.means(r, dst)
	requests.Put(r)
	return dst
}

// Predict writes the means and the standard deviations of new targets at x (d numbers) into mean
// and sd and returns them. Predict allocates a nil mean or sd. The results are those of
// Model.Predict, except for the rounding of variances that Model.Predictor describes. Cost: a
// transform and D²/2 multiply-adds, on all processors. Predict panics if a length does not fit.
func (s *Predictor[T]) Predict(mean, sd, x []T) (_, _ []T) {
	r := s.begin(x)
	mean, sd = s.means(r, mean), outputs("sd", sd, s.core.Weights.Cols)
	variance := r.variance(s.core)
	requests.Put(r)
	for j, noise := range s.core.Noise {
		sd[j] = T(math.Sqrt(noise * variance))
	}
	return mean, sd
}

// begin returns the features of x minus their mean.
func (s *Predictor[T]) begin(x []T) *request {
	s.check()
	if d, _ := s.phi.Dims(); len(x) != d {
		panic(fmt.Sprintf("ridge: x has %d elements, want %d", len(x), d))
	}
	r := requests.Get()
	r.phi = scratch.Resize(r.phi, len(s.core.FeatureMean))
	s.source.Residuals(dense.Of(1, len(r.phi), r.phi), r.residual[:], dense.Of(1, len(x), x), s.core.FeatureMean)
	return r
}

func (s *Predictor[T]) means(r *request, dst []T) []T {
	dst = outputs("dst", dst, s.core.Weights.Cols)
	for j := range dst {
		dst[j] = T(s.core.mean(r.phi, j))
	}
	return dst
}

// outputs returns dst, or a new slice if dst is nil, and panics unless dst has n elements.
func outputs[T dense.Float](name string, dst []T, n int) []T {
	if dst == nil {
		return make([]T, n)
	}
	if len(dst) != n {
		panic(fmt.Sprintf("ridge: %s has %d elements, want %d", name, len(dst), n))
	}
	return dst
}

// mean returns the mean of output j for the features phi minus their mean.
func (s *predictor) mean(phi []float64, j int) float64 {
	if s.Weights.Cols == 1 {
		return s.TargetMean[0] + vecmath.Dot(phi, s.Weights.Data)
	}
	sum := s.TargetMean[j]
	for i, v := range phi {
		sum += v * s.Weights.At(i, j)
	}
	return sum
}

// request is the memory of a prediction.
type request struct {
	phi      []float64  // features minus their mean
	residual [1]float64 // k(x, x) − ‖φ(x)‖²
	single   []float32  // phi
	inverse  []float32
	squares  [predictorPieces]float64
}

// predictorPieces is the number of groups of rows of R⁻ᵀ. It does not depend on the number of
// processors, because the rounding of sums depends on it.
const predictorPieces = 16

var requests pool.Of[request]

// variance returns the variance of a target in units of the noise.
func (r *request) variance(s *predictor) float64 {
	r.single = scratch.Resize(r.single, len(r.phi))
	for i, v := range r.phi {
		r.single[i] = float32(v)
	}
	r.inverse = s.Inverse
	parallel.Do(predictorPieces, r)
	r.inverse = nil
	variance := 1 + s.Base + r.residual[0]/s.Ratio
	for _, v := range r.squares {
		variance += v
	}
	return variance
}

// Piece sums the squares of group i of the elements of R⁻ᵀ(φ − φ̄). Groups take about equal time.
func (r *request) Piece(i int) {
	d := float64(len(r.single))
	lo, hi := int(d*math.Sqrt(float64(i)/predictorPieces)), int(d*math.Sqrt(float64(i+1)/predictorPieces))
	sum := 0.0
	for j := lo; j < hi; j++ {
		v := float64(vecmath.Dot(r.inverse[j*(j+1)/2:][:j+1], r.single))
		sum += v * v
	}
	r.squares[i] = sum
}

func (s *Predictor[T]) check() {
	if s.phi == nil {
		panic(errNoPredictor.Error())
	}
}

var errNoPredictor = errors.New("ridge: the Predictor is zero, want one of Model.Predictor or ViewPredictor")

// Write writes the predictor with its map as one safetensors file, which NumPy reads. The file has
// 2·D² + 8·D·p bytes and the bytes of the map. The error reports a map that cannot be written, and
// the errors of w.
func (s *Predictor[T]) Write(w io.Writer) error {
	if s.phi == nil {
		return errNoPredictor
	}
	return write(w, s)
}

// ViewPredictor returns the predictor in the bytes of a file of Write. data may be a file that the
// system has mapped into memory. The predictor uses R⁻ᵀ in data without a copy, unless the
// processor is big-endian or data is not aligned to four bytes. data must not change or be unmapped
// while the predictor is in use. ViewPredictor reads all bytes once, for the checksum. Errors are
// those of ReadModel.
func ViewPredictor[T dense.Float](data []byte) (*Predictor[T], error) {
	held, err := archive.View[T, recipe[T]](data, "model")
	return made[T, *Predictor[T]](held, err)
}

// predictorRecipe lists the parts of the file of a Predictor.
type predictorRecipe[T dense.Float] struct {
	Map rff.Map[T]
	predictor
}

func (s *Predictor[T]) recipe() recipe[T] { return predictorRecipe[T]{s.phi, *s.core} }

func (r predictorRecipe[T]) check() error {
	if err := checkWeights(r.Map, r.Weights, "outputs", 1); err != nil {
		return err
	}
	return r.predictor.check()
}

func (r predictorRecipe[T]) make() learnt[T] {
	return &Predictor[T]{r.Map, features.New(r.Map), &r.predictor}
}

func (s *predictor) check() error {
	if err := checkParts(s.Weights, s.FeatureMean, s.TargetMean, s.Noise, "inverse", len(s.Inverse)); err != nil {
		return err
	}
	if !(s.Base >= 0) || math.IsInf(s.Base, 0) {
		return fmt.Errorf("base = %v, want a number of at least 0", s.Base)
	}
	if err := checkPositive("ratio", s.Ratio); err != nil {
		return err
	}
	for j, v := range s.Noise {
		if err := checkPositive(fmt.Sprintf("noise[%d]", j), v); err != nil {
			return err
		}
	}
	return cmp.Or(argument.FiniteAll("inverse", s.Inverse), checkBands(s.Errors, s.Logs, s.Weights))
}
