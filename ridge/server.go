package ridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// Server predicts one row at a time. It keeps the matrix R⁻ᵀ that the variance
//
//	(φ − φ̄)ᵀA⁻¹(φ − φ̄) = ‖R⁻ᵀ(φ − φ̄)‖²,  A = RᵀR,
//
// of a row needs, as 2·D² bytes of float32 that a prediction reads once, where Model.Predict solves a
// system. It never changes, and goroutines may share it.
type Server[T dense.Float] struct {
	phi       rff.Map[T]
	weights   dense.Matrix[float64]
	mean      []float64 // of features
	intercept []float64 // value at the mean of features
	noise     []float64
	base      float64   // variance of the intercept over that of the noise
	inverse   []float32 // lower triangle of R⁻ᵀ, row by row
}

// Server returns a server of the model. Cost: D³/6 multiply-adds, and memory for D² numbers meanwhile.
//
// Numbers of float32 round the variance of a target by a share of at most 2⁻²³·‖φ − φ̄‖·√(max_i
// (A⁻¹)_ii), as an estimate of rounding errors that are independent. The error reports a model for which
// this is above 2⁻¹⁰ for features of norm 1, which a ratio Noise/Prior of 10⁻⁷ or more excludes. It also
// reports a zero model and the end of ctx; a nil ctx panics.
func (m *Model[T]) Server(ctx context.Context) (*Server[T], error) {
	return instance.Of(&modelServerBoth, (*Model[T]).Server)(m, ctx)
}

var modelServerBoth = instance.Both{modelServer[float32], modelServer[float64]}

func modelServer[T dense.Float](m *Model[T], ctx context.Context) (*Server[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if m.phi == nil {
		return nil, errNoModel
	}
	d := m.weights.Rows
	if err := limit.Memory[float32](d, d+1); err != nil {
		return nil, fmt.Errorf("ridge: the inverse of %d features: %w", d, err)
	}
	s := &Server[T]{
		phi: m.phi, weights: m.weights, mean: m.mean, intercept: m.intercept, noise: m.noise, base: m.base(),
		inverse: make([]float32, d*(d+1)/2),
	}
	diagonal := make([]float64, d) // of A⁻¹
	err := m.factor.invert(ctx, func(lo int, columns dense.Matrix[float64]) {
		for i := lo; i < d; i++ {
			row := s.inverse[i*(i+1)/2:][:i+1]
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
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g lets float32 round variances by a share of %.2g, want at most 0.001: use Predict", m.ratio, share)
	}
	return s, nil
}

// Dims returns the numbers of inputs and outputs of the model.
func (s *Server[T]) Dims() (in, out int) {
	s.check()
	d, _ := s.phi.Dims()
	return d, s.weights.Cols
}

// Mean writes the means of targets at x (d numbers) into dst, which is allocated if nil, and returns
// dst. They are those of Model.Mean. Cost: a transform and D·p multiply-adds. Mean panics if a length
// does not fit.
func (s *Server[T]) Mean(dst, x []T) []T {
	r := s.begin(x)
	dst = s.means(r, dst)
	pool.Put(&requests, r)
	return dst
}

// Predict writes the means and the standard deviations of new targets at x (d numbers) into mean and sd,
// which are allocated if nil, and returns them. They are those of Model.Predict, but for the rounding of
// variances that Model.Server states. Cost: a transform and D²/2 multiply-adds, on all processors.
// Predict panics if a length does not fit.
func (s *Server[T]) Predict(mean, sd, x []T) (_, _ []T) {
	r := s.begin(x)
	mean, sd = s.means(r, mean), s.outputs("sd", sd)
	r.single = scratch.Resize(r.single, len(r.centred))
	for i, v := range r.centred {
		r.single[i] = float32(v)
	}
	r.inverse = s.inverse
	parallel.Do(serverPieces, r)
	r.inverse = nil
	variance := 1 + s.base
	for _, v := range r.squares {
		variance += v
	}
	for j, noise := range s.noise {
		sd[j] = T(math.Sqrt(noise * variance))
	}
	pool.Put(&requests, r)
	return mean, sd
}

// serverPieces is the number of pieces of R⁻ᵀ, whatever the number of processors is, so that sums have
// the same bits.
const serverPieces = 16

// request is the memory of a prediction.
type request[T dense.Float] struct {
	phi     scratch.Buffer[T]
	centred []float64
	single  []float32 // centred
	inverse []float32
	squares [serverPieces]float64
}

var requests pool.Pair[request[float32], request[float64]]

// begin returns the features of x, centred.
func (s *Server[T]) begin(x []T) *request[T] {
	s.check()
	if d, _ := s.phi.Dims(); len(x) != d {
		panic(fmt.Sprintf("ridge: x has %d elements, want %d", len(x), d))
	}
	r := pool.Get[request[T]](&requests)
	width := s.weights.Rows
	r.phi.Shape(1, width)
	r.centred = scratch.Resize(r.centred, width)
	phi := s.phi.Transform(r.phi.Rows(1), dense.Of(1, len(x), x))
	centred(dense.Of(1, width, r.centred), phi, s.mean)
	return r
}

// outputs returns dst, allocated if nil, with an element for each output.
func (s *Server[T]) outputs(name string, dst []T) []T {
	if dst == nil {
		return make([]T, s.weights.Cols)
	}
	if len(dst) != s.weights.Cols {
		panic(fmt.Sprintf("ridge: %s has %d elements, want %d", name, len(dst), s.weights.Cols))
	}
	return dst
}

func (s *Server[T]) means(r *request[T], dst []T) []T {
	dst = s.outputs("dst", dst)
	for j := range dst {
		sum := s.intercept[j]
		if s.weights.Cols == 1 {
			sum += vecmath.Dot(r.centred, s.weights.Data)
		} else {
			for i, v := range r.centred {
				sum += v * s.weights.At(i, j)
			}
		}
		dst[j] = T(sum)
	}
	return dst
}

// Piece adds up the squares of some elements of R⁻ᵀ(φ − φ̄). Pieces have about as many numbers each.
func (r *request[T]) Piece(i int) {
	d := float64(len(r.single))
	lo, hi := int(d*math.Sqrt(float64(i)/serverPieces)), int(d*math.Sqrt(float64(i+1)/serverPieces))
	sum := 0.0
	for j := lo; j < hi; j++ {
		v := float64(vecmath.Dot(r.inverse[j*(j+1)/2:][:j+1], r.single))
		sum += v * v
	}
	r.squares[i] = sum
}

func (s *Server[T]) check() {
	if s.phi == nil {
		panic(errNoServer.Error())
	}
}

var errNoServer = errors.New("ridge: the Server is zero, want one of Model.Server or ViewServer")

// Write writes the server with its map as one safetensors file, which NumPy reads. The file has 2·D²
// + 8·D·p bytes and those of the map. The error reports a map that cannot be written, and the errors of
// w.
func (s *Server[T]) Write(w io.Writer) error {
	if s.phi == nil {
		return errNoServer
	}
	return write(w, s)
}

// ViewServer returns the server in the bytes of a file that Write wrote, such as one that the system has
// mapped into memory. R⁻ᵀ stays where it is, unless the processor stores numbers in another order or
// the bytes do not begin at a multiple of four: data must not change, nor be unmapped, while the server
// is in use. All bytes are read once, for the checksum. Errors are those of ReadModel.
func ViewServer[T dense.Float](data []byte) (*Server[T], error) {
	return instance.Of(&viewServerBoth, ViewServer[T])(data)
}

var viewServerBoth = instance.Both{viewServer[float32], viewServer[float64]}

func viewServer[T dense.Float](data []byte) (*Server[T], error) {
	held, err := archive.View[T, recipe[T]](data, "model")
	return made[T, *Server[T]](held, err)
}

// serverRecipe is what a Server is made of.
type serverRecipe[T dense.Float] struct {
	Map         rff.Map[T]
	Weights     dense.Matrix[float64]
	FeatureMean []float64 // φ̄; zeros without an intercept
	TargetMean  []float64 // ȳ; zeros without an intercept
	Noise       []float64 // σ²
	Base        float64   // 1/Σω, or 0 without an intercept
	Inverse     []float32 // lower triangle of R⁻ᵀ, row by row
}

func (s *Server[T]) recipe() recipe[T] {
	return serverRecipe[T]{Map: s.phi, Weights: s.weights, FeatureMean: s.mean, TargetMean: s.intercept, Noise: s.noise, Base: s.base, Inverse: s.inverse}
}

func (r serverRecipe[T]) check() error {
	if err := checkWeights(r.Map, r.Weights, "outputs", 1); err != nil {
		return err
	}
	if err := checkParts(r.Weights, r.FeatureMean, r.TargetMean, r.Noise, "inverse", len(r.Inverse)); err != nil {
		return err
	}
	if !(r.Base >= 0) || math.IsInf(r.Base, 0) {
		return fmt.Errorf("base = %v, want a number of at least 0", r.Base)
	}
	for j, v := range r.Noise {
		if err := checkPositive(fmt.Sprintf("noise[%d]", j), v); err != nil {
			return err
		}
	}
	return argument.FiniteAll("inverse", r.Inverse)
}

func (r serverRecipe[T]) make() learnt[T] {
	return &Server[T]{
		phi: r.Map, weights: r.Weights, mean: r.FeatureMean, intercept: r.TargetMean, noise: slices.Clone(r.Noise), base: r.Base, inverse: r.Inverse,
	}
}
