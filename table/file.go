package table

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

type recipe struct {
	Targets []string
	Columns []Column
	Report  string
	Model   *automl.Model[float64]
}

// Write writes the model and the encoding of the columns to w, as one safetensors file about as
// large as the file of the automl.Model inside. Write returns an error for a zero model, and the
// errors of w.
func (m *Model) Write(w io.Writer) error {
	if m == nil || m.model == nil {
		return errNoModel
	}
	return archive.Write[float64](w, "table", "table", recipe{m.targets, m.columns, m.report, m.model})
}

// ReadModel reads a model of Model.Write up to the end of r. On the same processor, with the same
// version of the module, the model of ReadModel predicts bit for bit what the written model
// predicts. ReadModel returns the errors of r, and an error that names a missing, damaged, unknown
// or unfit part of the file. ReadModel allocates at most a fixed multiple of the bytes that
// ReadModel has read.
func ReadModel(r io.Reader) (*Model, error) {
	p, err := archive.Read[float64, recipe](r, "table", "table")
	if err != nil {
		return nil, err
	}
	if err := checkColumns(p.Columns); err != nil {
		return nil, err
	}
	m := &Model{p.Targets, p.Columns, p.Report, p.Model}
	if p.Model == nil {
		return nil, errors.New("table: the file has no model")
	}
	for k, target := range p.Targets {
		if slices.Contains(p.Targets[:k], target) || slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Name == target }) {
			return nil, fmt.Errorf("table: the file has the target %.40q twice, or also as a column", target)
		}
	}
	in, outputs := p.Model.Dims()
	if p.Model.Labels() != nil {
		outputs = 1
	}
	if n := width(p.Columns); in != n || outputs != len(p.Targets) {
		return nil, fmt.Errorf("table: the file has %d targets and columns that make %d columns of points, and its model has %d and %d", len(p.Targets), n, outputs, in)
	}
	return m, nil
}
