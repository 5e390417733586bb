package automl

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Model is a mixture of regressions or of classifiers, the members. A Model accepts rows in the
// units of the data, never changes, and may be shared by goroutines.
type Model[T dense.Float] struct {
	members []member[T]           // of falling weights
	scores  dense.Matrix[float64] // of other rows, ascending for each output
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

// Labels returns the texts of the classes from Options.Labels, the numbers of the classes without
// such texts, and nil for a model of numbers.
func (m *Model[T]) Labels() []string {
	c := m.first().Classifier
	if c == nil {
		return nil
	}
	labels := c.Labels()
	if labels == nil {
		_, classes := m.Dims()
		for k := range classes {
			labels = append(labels, strconv.Itoa(k))
		}
	}
	return labels
}

// For each row of x, Mean writes the predicted numbers into a row of dst and returns dst; a zero
// dst is allocated. If the part of the largest weight predicts logarithms, numbers are at least a
// quarter of the prediction of this part. Mean panics for a model of classes, and if the shape of x
// or dst does not fit.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if m.first().Model == nil {
		panic("automl: Mean of a model of classes, want Probabilities")
	}
	var first dense.Matrix[T]
	dst = m.mix(dst, x, func(p member[T], x dense.Matrix[T]) dense.Matrix[T] {
		f := p.Model.Mean(dense.Matrix[T]{}, x)
		for i, v := range f.Data {
			f.Data[i] = T(p.Back[i%f.Cols].at(float64(v)))
		}
		if first.Data == nil {
			first = f
		}
		return f
	})
	for j, b := range m.members[0].Back {
		for i := range dst.Rows {
			if b.Factor > 0 { // other parts can bring the mixture below 0
				dst.Set(i, j, max(dst.At(i, j), leastOfFirst*first.At(i, j)))
			}
		}
	}
	return dst
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

// For each level and row of x, Quantiles returns the predictive quantiles of all outputs: the
// matrix k of the result has rows of the quantiles of levels[k]. A band of 90 % is from the
// quantiles of 0.05 to those of 0.95. A new target is below the quantile of a level with about
// the probability level.
//
// Quantiles come from n scores, the signed prediction errors of mixtures at rows that neither the
// fits nor the choice of the mixture have seen, divided by deviations at these rows. The quantile
// is the prediction plus the deviation at x times the score of rank level·(n + 1), rounded away
// from n/2: an error that is exchangeable with the n errors is below with at most the probability
// level for levels from 1/(n + 1) to ½, and with at least this probability from ½ to n/(n + 1)
// [Vovk et al. 2005]. Without such a rank, the largest size of a score stands in its place, or ±Inf
// if the level is nearer to 0 or 1 than ½/(n + 1). Rows of all weights above 0 count alike in the
// order of scores, and the deviation at x is that of a row of the mean weight. If the part of the
// largest weight predicts logarithms, no quantile is below 0, which stands in place of −Inf: scores
// s above 0 multiply the prediction f by 1 + deviation·s, others by exp(deviation·s). The quantiles
// of levels up to 0.1 are at most the prediction, and those of levels from 0.9 on at least the
// prediction.
//
// Quantiles panics where Mean panics, and for a level that is not between 0 and 1. The cost is that
// of Mean, and of Predict of the part of the largest weight.
func (m *Model[T]) Quantiles(x dense.Matrix[T], levels ...float64) []dense.Matrix[T] {
	mean := m.Mean(dense.Matrix[T]{}, x)
	p, all := m.members[0], make([]dense.Matrix[T], len(levels))
	own, units := p.Model.Band(p.rows(x), 0.5)
	for k, level := range levels {
		if !(level > 0 && level < 1) {
			panic(fmt.Sprintf("automl: levels[%d] = %v, want a number between 0 and 1", k, level))
		}
		all[k] = dense.New[T](mean.Rows, mean.Cols)
		for j, b := range p.Back {
			score := quantile(m.scores.Row(j), level)
			for i := range mean.Rows {
				at := b.placeOf(float64(mean.At(i, j)), b.at(float64(own.At(i, j))), float64(units.At(i, j)))
				all[k].Set(i, j, T(at.quantile(score)))
			}
		}
	}
	return all
}

var errNoModel = errors.New("automl: the Model is zero, want one of Fit or ReadModel")

type recipe[T dense.Float] struct {
	Parts  []member[T]
	Scores dense.Matrix[float64]
}

func init() {
	register[float32]()
	register[float64]()
}

// register lets files of other packages have a Model as a part.
func register[T dense.Float]() {
	registry.RegisterFunc(func(m *Model[T]) (any, error) { return recipe[T]{m.members, m.scores}, nil })
	registry.Register(map[string]any{"Mixture": recipe[T]{}}, func(r any) (*Model[T], error) {
		m := &Model[T]{r.(recipe[T]).Parts, r.(recipe[T]).Scores}
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
		in, out := (&Model[T]{members: m.members[i : i+1]}).Dims()
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
	rows := 0
	if m.members[0].Model != nil {
		_, rows = m.Dims()
	}
	if m.scores.Rows != rows || rows > 0 && m.scores.Cols < 1 {
		return fmt.Errorf("automl: the file has %d×%d scores, want a row of scores for each of %d numeric outputs", m.scores.Rows, m.scores.Cols, rows)
	}
	if err := argument.FiniteAll("scores", m.scores.Data); err != nil {
		return fmt.Errorf("automl: %w", err)
	}
	for j := range rows {
		if !slices.IsSorted(m.scores.Row(j)) {
			return fmt.Errorf("automl: the file has scores of output %d that do not rise", j)
		}
	}
	if !(math.Abs(sum-1) < 1e-6) {
		return fmt.Errorf("automl: weights of the parts of the file have the sum %v, want 1", sum)
	}
	return nil
}
