package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// Names of the files of a served model.
const (
	modelFile   = "model.safetensors"
	columnsFile = "columns.json"
)

// writeModel writes the model and the encoding of the columns into a folder.
func writeModel(folder string, found *automl.Result[float64], e *encoder) error {
	write := found.Classifier.Write
	if e.Classes = found.Classifier != nil; !e.Classes {
		write = found.Model.Write
	}
	if err := cli.Write(filepath.Join(folder, columnsFile), func(w io.Writer) error {
		text := json.NewEncoder(w)
		text.SetIndent("", "\t")
		return text.Encode(e)
	}); err != nil {
		return err
	}
	return cli.Write(filepath.Join(folder, modelFile), write)
}

// service predicts raw rows. Goroutines may share it.
type service struct {
	model      *ridge.Model[float64]
	classifier *ridge.Classifier[float64]
	encoder    *encoder
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
	file, err := os.ReadFile(filepath.Join(folder, modelFile))
	if err != nil {
		return nil, err
	}
	var phi rff.Map[float64]
	if s.encoder.Classes {
		if s.classifier, err = ridge.ReadClassifier[float64](bytes.NewReader(file)); err == nil {
			phi = s.classifier.Map()
		}
	} else if s.model, err = ridge.ReadModel[float64](bytes.NewReader(file)); err == nil {
		phi = s.model.Map()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", modelFile, err)
	}
	if in, _ := phi.Dims(); in != s.encoder.width() {
		return nil, fmt.Errorf("%s makes %d columns of points, and %s has %d", columnsFile, s.encoder.width(), modelFile, in)
	}
	return s, nil
}

// predict predicts the target of the first row of a CSV text whose first line has names. The text
// need not have the target.
func (s *service) predict(text string, comma rune) (string, error) {
	t, err := parseTable(strings.NewReader(text), comma)
	if err != nil {
		return "", err
	}
	if len(t.rows) == 0 {
		return "", errors.New("no row to predict")
	}
	x := dense.New[float64](1, s.encoder.width())
	if err := s.encoder.encode(x.Row(0), t.names, t.rows[0], t.lines[0]); err != nil {
		return "", err
	}
	if s.model != nil {
		mean, half := s.model.Band(x, 0.9)
		return plusMinus(mean.At(0, 0), half.At(0, 0)), nil
	}
	var parts []string
	for c, p := range s.classifier.Probabilities(dense.Matrix[float64]{}, x).Row(0) {
		parts = append(parts, fmt.Sprintf("%s %.1f %%", s.classifier.Labels()[c], 100*p))
	}
	return strings.Join(parts, ", "), nil
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
		c.Comma = flags.comma
		_ = c.Write(slices.Delete(slices.Clone(row), target, target+1))
		c.Flush()
		return b.String()
	}
	line, measured := flags.row, ""
	if line == "" {
		row := d.table.rows[d.heldOut[0]]
		line, measured = strings.TrimSuffix(without(row), "\n"), "; measured: "+row[target]
	}
	predicted, err := s.predict(without(d.table.names)+line, flags.comma)
	if err != nil {
		return fmt.Errorf("the row to predict, after one with names: %w", err)
	}
	if flags.out != "" {
		fmt.Fprintf(w, "\nThe model is %s and %s in %s.\n", modelFile, columnsFile, folder)
	}
	_, err = fmt.Fprintf(w, "\nRead back, the model predicts a raw row:\n\n    %s\n    %s: %s%s\n",
		line, d.encoder.Target, predicted, measured)
	return err
}
