package automl

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Model is a mixture of regressions or of classifiers, the members. A Model accepts rows in the
// units of the data, never changes, and may be shared by goroutines.
type Model[T dense.Float] struct {
	members []member[T] // of falling weights
}

// member is a part of a mixture, and of its file.
type member[T dense.Float] struct {
	Weight     float64
	Curves     curves
	Model      *ridge.Model[T] // of moved columns; nil for classes
	Classifier *ridge.Classifier[T]
	Back       []back // of the outputs of Model
}

// back is the function from a prediction f of a model of logarithms, Factor·exp(f) for f from Low
// to High. The prediction of a model of targets as they are has the Factor 0.
type back struct{ Factor, Low, High float64 }

func (b back) at(f float64) float64 {
	if b.Factor == 0 {
		return f
	}
	return b.Factor * math.Exp(min(max(f, b.Low), b.High))
}

// Dims returns the number of columns of rows, and the number of targets or classes.
func (m *Model[T]) Dims() (in, out int) {
	if first := m.first(); first.Model != nil {
		in, _ = first.Model.Map().Dims()
		return in, len(first.Model.Noise())
	}
	in, _ = m.members[0].Classifier.Map().Dims()
	return in, m.members[0].Classifier.Probabilities(dense.Matrix[T]{}, dense.New[T](1, in)).Cols
}

func (m *Model[T]) first() member[T] {
	if m == nil || len(m.members) == 0 {
		panic(errNoModel.Error())
	}
	return m.members[0]
}

// Labels returns the texts of the classes from Options.Labels, or nil.
func (m *Model[T]) Labels() []string {
	if c := m.first().Classifier; c != nil {
		return c.Labels()
	}
	return nil
}

// For each row of x, Mean writes the predicted numbers into a row of dst and returns dst; a zero
// dst is allocated. Mean panics for a model of classes, and if the shape of x or dst does not fit.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if m.first().Model == nil {
		panic("automl: Mean of a model of classes, want Probabilities")
	}
	return m.mix(dst, x, func(p member[T], x dense.Matrix[T]) dense.Matrix[T] {
		f := p.Model.Mean(dense.Matrix[T]{}, x)
		for i, v := range f.Data {
			f.Data[i] = T(p.Back[i%f.Cols].at(float64(v)))
		}
		return f
	})
}

// For each row of x, Probabilities writes the probabilities of all classes into a row of dst and
// returns dst; a zero dst is allocated. Probabilities panics for a model of numbers, and if the
// shape of x or dst does not fit.
func (m *Model[T]) Probabilities(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if m.first().Classifier == nil {
		panic("automl: Probabilities of a model of numbers, want Mean")
	}
	return m.mix(dst, x, func(p member[T], x dense.Matrix[T]) dense.Matrix[T] {
		return p.Classifier.Probabilities(dense.Matrix[T]{}, x)
	})
}

func (m *Model[T]) mix(dst, x dense.Matrix[T], predict func(p member[T], x dense.Matrix[T]) dense.Matrix[T]) dense.Matrix[T] {
	var sums dense.Matrix[float64]
	for _, p := range m.members {
		part := predict(p, p.rows(x))
		sums = dense.Ensure(sums, part.Rows, part.Cols)
		for i := range part.Rows {
			for j, v := range part.Row(i) {
				sums.Row(i)[j] += p.Weight * float64(v)
			}
		}
	}
	return dense.Copy(dense.Ensure(dst, sums.Rows, sums.Cols), sums)
}

func (p member[T]) rows(x dense.Matrix[T]) dense.Matrix[T] {
	if p.Curves.Knots.Rows == x.Cols {
		return moved(p.Curves, x)
	}
	return x // or a panic of the model
}

// For each row of x and each output, Band returns the mean and the half width of a band, which
// holds a new target with the probability level: see ridge.Model.Band. The half width is in
// proportion to the deviation of the part of the largest weight, and, if this part predicts
// logarithms, to the number that the mixture predicts plus the distance from the number that the
// part predicts, because a mixture with parts that are not positive may be near 0. The factor comes
// from prediction errors of the mixture at rows that fits have not seen. Band panics where Mean
// panics, and unless level is between 0 and 1.
func (m *Model[T]) Band(x dense.Matrix[T], level float64) (mean, half dense.Matrix[T]) {
	mean = m.Mean(mean, x)
	p := m.members[0]
	own, half := p.Model.Band(p.rows(x), level)
	for i := range half.Rows {
		for j, v := range mean.Row(i) {
			if p.Back[j].Factor > 0 {
				half.Row(i)[j] *= T(math.Abs(float64(v)) + math.Abs(float64(v)-p.Back[j].at(float64(own.At(i, j)))))
			}
		}
	}
	return mean, half
}

var errNoModel = errors.New("automl: the Model is zero, want one of Fit or ReadModel")

type recipe[T dense.Float] struct{ Parts []member[T] }

func init() {
	register[float32]()
	register[float64]()
}

// register lets files of other packages have a Model as a part.
func register[T dense.Float]() {
	registry.RegisterFunc(func(m *Model[T]) (any, error) { return recipe[T]{m.members}, nil })
	registry.Register(map[string]any{"Mixture": recipe[T]{}}, func(r any) (*Model[T], error) {
		m := &Model[T]{r.(recipe[T]).Parts}
		return m, m.check()
	})
}

// Write writes the model to w as one safetensors file, which has the files of all parts. Write
// returns an error for a zero model, and the errors of w.
func (m *Model[T]) Write(w io.Writer) error {
	if m == nil || len(m.members) == 0 {
		return errNoModel
	}
	return archive.Write[T](w, "automl", "mixture", m)
}

// ReadModel reads from r, up to the end of r, a model that Model.Write has written. With equal
// processors and equal versions of the module, predictions and bands of the model of ReadModel
// equal those of the written model bit for bit. ReadModel returns the errors of r, and an error
// that names a missing, damaged or unknown part of the file, or parts that do not fit together.
// ReadModel allocates at most a multiple of the bytes read from r.
func ReadModel[T dense.Float](r io.Reader) (*Model[T], error) {
	return archive.Read[T, *Model[T]](r, "automl", "mixture")
}

func (m *Model[T]) check() error {
	sum := 0.0
	if len(m.members) == 0 {
		return errors.New("automl: the file has no parts")
	}
	for i, p := range m.members {
		first := m.members[0]
		if (p.Model == nil) == (p.Classifier == nil) || (p.Model == nil) != (first.Model == nil) {
			return fmt.Errorf("automl: part %d of the file is no model, or not of the kind of part 0", i)
		}
		in, out := (&Model[T]{m.members[i : i+1]}).Dims()
		d, outputs := m.Dims()
		k, v := p.Curves.Knots, p.Curves.Values
		if in != d || out != outputs || p.Model != nil && len(p.Back) != out || k.Rows != v.Rows || k.Cols != v.Cols || k.Rows > 0 && (k.Rows != d || k.Cols < 1) ||
			p.Classifier != nil && !slices.Equal(p.Classifier.Labels(), first.Classifier.Labels()) {
			return fmt.Errorf("automl: part %d of the file does not have the columns, outputs or labels of part 0", i)
		}
		numbers := slices.Concat(k.Data, v.Data, []float64{p.Weight})
		for _, b := range p.Back {
			numbers = append(numbers, b.Factor, b.Low, b.High)
		}
		if err := argument.FiniteAll("numbers", numbers); err != nil {
			return fmt.Errorf("automl: part %d of the file: %w", i, err)
		}
		for j := range k.Rows {
			if !slices.IsSorted(k.Row(j)) {
				return fmt.Errorf("automl: part %d of the file has knots of column %d that do not rise", i, j)
			}
		}
		if back := func(b back) bool { return b.Factor < 0 || b.Low > b.High }; !(p.Weight > 0) || slices.ContainsFunc(p.Back, back) {
			return fmt.Errorf("automl: part %d of the file has the weight %v and functions %v of predictions", i, p.Weight, p.Back)
		}
		sum += p.Weight
	}
	if !(math.Abs(sum-1) < 1e-6) {
		return fmt.Errorf("automl: weights of the parts of the file have the sum %v, want 1", sum)
	}
	return nil
}
