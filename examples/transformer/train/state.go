package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// store writes the model and the state of the training.
func (t *training) store() error {
	text, err := json.Marshal(t.progress)
	if err != nil {
		return err
	}
	config, err := t.model.JSON()
	if err != nil {
		return err
	}
	a := t.optimiser
	state := &safetensors.File{Metadata: map[string]string{"training": string(text)}, Tensors: make(map[string]safetensors.Tensor)}
	for i := range a.First {
		state.Tensors[fmt.Sprintf("first.%d", i)] = tensor(a.First[i])
		state.Tensors[fmt.Sprintf("second.%d", i)] = tensor(a.Second[i])
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{t.weights(), func(w io.Writer) error { return t.model.Write(w, nil, false) }},
		{t.moments(), func(w io.Writer) error { return safetensors.Write(w, state) }},
		{filepath.Join(t.out, "model.safetensors"), func(w io.Writer) error { return t.model.Write(w, nil, true) }},
		{filepath.Join(t.out, "config.json"), func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n", config)
			return err
		}},
	} {
		if err := cli.Write(f.name, f.write); err != nil {
			return err
		}
	}
	return nil
}

func (t *training) weights() string { return filepath.Join(t.state, "weights.safetensors") }
func (t *training) moments() string { return filepath.Join(t.state, "optimiser.safetensors") }

// load reads what store has written. A schedule that is over begins again.
func (t *training) load() error {
	weights, err := read(t.weights())
	if err != nil {
		return err
	}
	if err := t.model.Load(weights); err != nil {
		return err
	}
	state, err := read(t.moments())
	if err != nil {
		return err
	}
	a := t.optimiser
	for i := range a.First {
		for name, to := range map[string][]float32{
			fmt.Sprintf("first.%d", i): a.First[i], fmt.Sprintf("second.%d", i): a.Second[i],
		} {
			x, err := safetensors.Floats[float32](state.Tensors[name])
			if err != nil {
				return fmt.Errorf("%s: tensor %q: %w", t.moments(), name, err)
			}
			if len(x) != len(to) {
				return fmt.Errorf("%s: tensor %q has %d numbers, want %d", t.moments(), name, len(x), len(to))
			}
			copy(to, x)
		}
	}
	p := &t.progress
	if err := json.Unmarshal([]byte(state.Metadata["training"]), p); err != nil {
		return fmt.Errorf("%s: %w", t.moments(), err)
	}
	a.Steps = p.Steps
	if p.Done >= 1 {
		p.Done, p.From = 0, p.Steps
	}
	return nil
}

func tensor(x []float32) safetensors.Tensor {
	t := safetensors.Tensor{DType: safetensors.F32, Shape: []int{len(x)}}
	for _, v := range x {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

func read(name string) (*safetensors.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}
