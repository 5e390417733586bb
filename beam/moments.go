package beamfeat

import (
	"fmt"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	gonumblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Moments]())
	beam.RegisterCoder(reflect.TypeFor[Moments](), encodeMoments, decodeMoments)
	register.Combiner2[Moments, ridge.Block[float32]](&momentsFn[float32]{})
	register.Combiner2[Moments, ridge.Block[float64]](&momentsFn[float64]{})
	beam.RegisterFunction(mergeMoments)
}

// Moments are the number of points z ∈ R^D, their mean μ and the sums of squares and products about
// it. ΦᵀΦ of features is Scatter + Rows·μμᵀ, and the covariance is Scatter/(Rows − 1).
type Moments struct {
	Rows    int
	Mean    []float64             // μ
	Scatter dense.Matrix[float64] // Σ(z − μ)(z − μ)ᵀ, D×D
}

// SumMoments returns the Moments, a PCollection of one, of the points X of blocks, a PCollection of
// ridge.Block[T], or of their features phi(x) if phi is not nil. Targets and weights are not read.
// There are none if there is no block.
//
// The points are summed in float64, about the mean of some hundred points at a time, so that a
// large mean costs no digits [Chan, Golub & LeVeque 1983]. A bundle leaves 8·D² bytes. fanout is as
// in Ridge: 0 or 1 for one worker that merges all bundles, and for many bundles and a large D some
// square root of their number.
//
// NaN and ±Inf make the moments NaN. A block of points of another dimension fails the pipeline.
// SumMoments panics for a map that cannot be written and for a negative fanout.
func SumMoments[T dense.Float](s beam.Scope, blocks beam.PCollection, phi rff.Map[T], fanout int) beam.PCollection {
	if fanout < 0 {
		panic(fmt.Sprintf("beamfeat: fanout = %d, want at least 0", fanout))
	}
	fn := &momentsFn[T]{}
	if phi != nil {
		file, err := writeMap(phi)
		if err != nil {
			panic(err)
		}
		fn.Map = file
	}
	s = s.Scope("beamfeat.SumMoments")
	if fanout <= 1 {
		return beam.Combine(s, fn, blocks)
	}
	return beam.Combine(s, mergeMoments, beam.DropKey(s, beam.CombinePerKey(s, fn, spread[T](s, blocks, fanout))))
}

// PCA returns the map on the principal components that rff.PCA fits to points of these moments. The
// components are exact where the moments are: no point has been left out.
//
// An error reports fewer than two rows, moments that are not finite, and what rff.PCA reports.
// Cost: O(D³).
func PCA[T dense.Float](m Moments, components int, whiten bool) (rff.Map[T], error) {
	if m.Rows < 2 {
		return nil, fmt.Errorf("beamfeat: moments of %d rows, want at least 2", m.Rows)
	}
	d := len(m.Mean)
	symmetric := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			v := m.Scatter.At(i, j) / float64(m.Rows-1)
			if v-v != 0 {
				return nil, fmt.Errorf("beamfeat: covariance [%d][%d] = %v, want a finite number", i, j, v)
			}
			symmetric.SetSym(i, j, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, true) {
		return nil, fmt.Errorf("beamfeat: the eigenvalues of the covariance, %d×%d, did not converge", d, d)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	// The points μ ± c·√λ_k·v_k have the mean μ, and with c² = (2D − 1)/2 the covariance of m.
	points := dense.New[T](2*d, d)
	for k, variance := range eigen.Values(nil) {
		scale := math.Sqrt(max(variance, 0) * float64(2*d-1) / 2)
		for j, mean := range m.Mean {
			step := scale * vectors.At(j, k)
			points.Set(2*k, j, T(mean+step))
			points.Set(2*k+1, j, T(mean-step))
		}
	}
	return rff.PCA(points, components, whiten)
}

// momentsFn is the CombineFn of SumMoments.
type momentsFn[T dense.Float] struct {
	Map []byte // file of the map, nil for none

	phi rff.Map[T]
}

func (f *momentsFn[T]) Setup() (err error) {
	if f.Map != nil {
		f.phi, err = readMap[T](f.Map)
	}
	return err
}

func (f *momentsFn[T]) CreateAccumulator() Moments { return Moments{} }

// momentRows is the number of points that are summed together.
const momentRows = 512

func (f *momentsFn[T]) AddInput(m Moments, b ridge.Block[T]) (Moments, error) {
	for lo := 0; lo < b.X.Rows; lo += momentRows {
		x := b.X.RowRange(lo, min(lo+momentRows, b.X.Rows))
		if f.phi != nil {
			if d, _ := f.phi.Dims(); x.Cols != d {
				return m, fmt.Errorf("beamfeat: X is %d×%d, want %d columns", b.X.Rows, x.Cols, d)
			}
			x = f.phi.Transform(dense.Matrix[T]{}, x)
		}
		var err error
		if m, err = mergeMoments(m, momentsOf(dense.Copy(dense.Matrix[float64]{}, x))); err != nil {
			return m, err
		}
	}
	return m, nil
}

// momentsOf returns the moments of the rows of z, at least one. z is lost.
func momentsOf(z dense.Matrix[float64]) Moments {
	m := Moments{Rows: z.Rows, Mean: make([]float64, z.Cols), Scatter: dense.New[float64](z.Cols, z.Cols)}
	for i := range z.Rows {
		for j, v := range z.Row(i) {
			m.Mean[j] += v / float64(z.Rows)
		}
	}
	for i := range z.Rows {
		for j := range z.Row(i) {
			z.Row(i)[j] -= m.Mean[j]
		}
	}
	c := m.Scatter
	blas.Implementation{}.Dsyrk(gonumblas.Lower, gonumblas.Trans, z.Cols, z.Rows, 1, z.Data, z.Stride, 0, c.Data, c.Stride)
	for i := range c.Rows {
		for j := range i {
			c.Set(j, i, c.At(i, j))
		}
	}
	return m
}

func (f *momentsFn[T]) MergeAccumulators(a, b Moments) (Moments, error) { return mergeMoments(a, b) }

// mergeMoments returns the moments of the points of both, in the memory of a.
func mergeMoments(a, b Moments) (Moments, error) {
	if a.Rows == 0 || b.Rows == 0 {
		if a.Rows == 0 {
			a = b
		}
		return a, nil
	}
	if len(a.Mean) != len(b.Mean) {
		return a, fmt.Errorf("beamfeat: points with %d coordinates and points with %d", len(a.Mean), len(b.Mean))
	}
	n := a.Rows + b.Rows
	share := float64(b.Rows) / float64(n)
	delta := make([]float64, len(a.Mean))
	for j := range delta {
		delta[j] = b.Mean[j] - a.Mean[j]
		a.Mean[j] += delta[j] * share
	}
	for i, u := range delta {
		to, from := a.Scatter.Row(i), b.Scatter.Row(i)
		for j, v := range delta {
			to[j] += from[j] + float64(a.Rows)*share*(u*v) // the same bits for (j, i)
		}
	}
	a.Rows = n
	return a, nil
}

func (f *momentsFn[T]) ExtractOutput(m Moments) Moments { return m }

// encodeMoments returns moments as the bytes of a block of one target: the mean with the number of
// rows, then the rows of the scatter with zeros.
func encodeMoments(m Moments) ([]byte, error) {
	d := len(m.Mean)
	b := ridge.Block[float64]{X: dense.New[float64](1+d, d), Y: dense.New[float64](1+d, 1)}
	copy(b.X.Row(0), m.Mean)
	b.Y.Set(0, 0, float64(m.Rows))
	if d > 0 {
		dense.Copy(b.X.RowRange(1, 1+d), m.Scatter)
	}
	return encodeBlock(b)
}

func decodeMoments(data []byte) (Moments, error) {
	b, err := decodeBlock[float64](data)
	if err != nil {
		return Moments{}, err
	}
	if b.X.Rows != b.X.Cols+1 || b.Y.Cols != 1 {
		return Moments{}, fmt.Errorf("beamfeat: moments in a block with X of %d×%d and Y of %d×%d", b.X.Rows, b.X.Cols, b.Y.Rows, b.Y.Cols)
	}
	return Moments{Rows: int(b.Y.At(0, 0)), Mean: b.X.Row(0), Scatter: b.X.RowRange(1, b.X.Rows)}, nil
}

// MarshalBinary returns the moments as bytes, 8·(D + 1)² and some more.
func (m Moments) MarshalBinary() ([]byte, error) { return encodeMoments(m) }

// UnmarshalBinary makes m the moments whose bytes these are. It returns an error and leaves m as it
// is if they are none.
func (m *Moments) UnmarshalBinary(data []byte) error {
	read, err := decodeMoments(data)
	if err == nil {
		*m = read
	}
	return err
}
