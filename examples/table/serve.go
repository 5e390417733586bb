package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Names of the files of a served model.
const (
	modelFile   = "model.safetensors"
	columnsFile = "columns.json"
)

// writeModel writes the predictor of a model and the encoding of the columns into a folder.
func writeModel(ctx context.Context, folder string, model *ridge.Model[float64], e *encoder) error {
	predictor, err := model.Predictor(ctx)
	if err != nil {
		return err
	}
	if err := cli.Write(filepath.Join(folder, columnsFile), func(w io.Writer) error {
		text := json.NewEncoder(w)
		text.SetIndent("", "\t")
		return text.Encode(e)
	}); err != nil {
		return err
	}
	return cli.Write(filepath.Join(folder, modelFile), predictor.Write)
}

// service predicts raw rows. Goroutines may share it.
type service struct {
	predictor *ridge.Predictor[float64]
	encoder   *encoder
}

// readModel reads the files of writeModel.
func readModel(folder string) (*service, error) {
	text, err := os.ReadFile(filepath.Join(folder, columnsFile))
	if err != nil {
		return nil, err
	}
	s := &service{encoder: new(encoder)}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(s.encoder); err != nil {
		return nil, fmt.Errorf("%s: %w", columnsFile, err)
	}
	for _, c := range s.encoder.Columns {
		if c.Kind == isNumber && !(c.Deviation > 0) {
			return nil, fmt.Errorf("%s: column %q: deviation %v, want a positive number", columnsFile, c.Name, c.Deviation)
		}
	}
	file, err := os.ReadFile(filepath.Join(folder, modelFile)) // or unix.Mmap
	if err != nil {
		return nil, err
	}
	if s.predictor, err = ridge.ViewPredictor[float64](file); err != nil {
		return nil, fmt.Errorf("%s: %w", modelFile, err)
	}
	if in, _ := s.predictor.Dims(); in != s.encoder.width() {
		return nil, fmt.Errorf("%s makes %d columns of points, and %s has %d", columnsFile, s.encoder.width(), modelFile, in)
	}
	return s, nil
}

// predict returns the mean and the standard deviation of the target of the first row of a CSV text
// whose first line has names. The text need not have the target.
func (s *service) predict(text string) (mean, sd float64, err error) {
	t, err := parseTable(strings.NewReader(text))
	if err != nil {
		return 0, 0, err
	}
	if len(t.rows) == 0 {
		return 0, 0, errors.New("no row to predict")
	}
	x := make([]float64, s.encoder.width())
	if err := s.encoder.encode(x, t.names, t.rows[0], t.lines[0]); err != nil {
		return 0, 0, err
	}
	m, d := s.predictor.Predict(nil, nil, x)
	return m[0], d[0], nil
}

// serve reads the model and predicts the row of the flags, or the first held-out row.
func (d *data) serve(w io.Writer, folder string, flags settings) error {
	s, err := readModel(folder)
	if err != nil {
		return err
	}
	target := slices.Index(d.table.names, d.encoder.Target)
	without := func(row []string) string {
		var b strings.Builder
		c := csv.NewWriter(&b)
		_ = c.Write(slices.Delete(slices.Clone(row), target, target+1))
		c.Flush()
		return b.String()
	}
	line, measured := flags.row, ""
	if line == "" {
		row := d.table.rows[d.heldOut[0]]
		line, measured = strings.TrimSuffix(without(row), "\n"), "; measured: "+row[target]
	}
	mean, sd, err := s.predict(without(d.table.names) + line)
	if err != nil {
		return fmt.Errorf("the row to predict, after one with names: %w", err)
	}
	if flags.out != "" {
		fmt.Fprintf(w, "\nThe model is %s and %s in %s.\n", modelFile, columnsFile, folder)
	}
	_, err = fmt.Fprintf(w, "\nRead back, the model predicts a raw row:\n\n    %s\n    %s: %.1f, standard deviation %.1f%s\n",
		line, d.encoder.Target, mean, sd, measured)
	return err
}
