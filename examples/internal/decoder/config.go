package decoder

import (
	"encoding/json"
	"fmt"

	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Config holds the sizes of a decoder.
type Config struct {
	Vocabulary, Layers, Width int
	Heads, KeyHeads, HeadDim  int // KeyHeads of keys and values
	Inner                     int // columns of the inner layers
	Context                   int // tokens that the model was trained on; learnt positions of GPT-2
	Epsilon                   float64

	// GPT2 stands for the layers of GPT-2 [Radford et al. 2019]: LayerNorm, GELU, learnt positions
	// and biases. Otherwise layers are those of Llama [Touvron et al. 2023]: RMSNorm, SwiGLU and
	// rotary positions.
	GPT2 bool

	// Base and Scaling are those of rotary positions.
	Base    float64
	Scaling layer.RotaryScaling

	// Untied says that logits have a matrix of their own, and not that of the embeddings.
	Untied bool
}

// file is the part of Hugging Face's config.json that decides what is computed.
type file struct {
	ModelType string `json:"model_type"`

	Vocabulary int      `json:"vocab_size"`
	Layers     int      `json:"num_hidden_layers,omitempty"`
	Width      int      `json:"hidden_size,omitempty"`
	Heads      int      `json:"num_attention_heads,omitempty"`
	KeyHeads   int      `json:"num_key_value_heads,omitempty"`
	HeadDim    int      `json:"head_dim,omitempty"`
	Inner      int      `json:"intermediate_size,omitempty"`
	Context    int      `json:"max_position_embeddings,omitempty"`
	Epsilon    float64  `json:"rms_norm_eps,omitempty"`
	Base       float64  `json:"rope_theta,omitempty"`
	Scaling    *scaling `json:"rope_scaling,omitempty"`
	Tied       *bool    `json:"tie_word_embeddings,omitempty"`
	Activation string   `json:"hidden_act,omitempty"`

	GPT2Layers     int     `json:"n_layer,omitempty"`
	GPT2Width      int     `json:"n_embd,omitempty"`
	GPT2Heads      int     `json:"n_head,omitempty"`
	GPT2Inner      int     `json:"n_inner,omitempty"`
	GPT2Context    int     `json:"n_positions,omitempty"`
	GPT2Epsilon    float64 `json:"layer_norm_epsilon,omitempty"`
	GPT2Activation string  `json:"activation_function,omitempty"`
}

// scaling is rope_scaling, whose kind has had two names.
type scaling struct {
	Type    string  `json:"rope_type,omitempty"`
	OldType string  `json:"type,omitempty"`
	Factor  float64 `json:"factor,omitempty"`
	Low     float64 `json:"low_freq_factor,omitempty"`
	High    float64 `json:"high_freq_factor,omitempty"`
	Context int     `json:"original_max_position_embeddings,omitempty"`
	Fast    float64 `json:"beta_fast,omitempty"`
	Slow    float64 `json:"beta_slow,omitempty"`
	Length  float64 `json:"attention_factor,omitempty"`
}

// ParseConfig reads the file config.json of a model of Llama or GPT-2. The error names what the
// package does not compute.
func ParseConfig(data []byte) (Config, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return Config{}, fmt.Errorf("decoder: config.json: %w", err)
	}
	c := Config{Vocabulary: f.Vocabulary}
	switch f.ModelType {
	case "gpt2":
		c.GPT2, c.Layers, c.Width, c.Heads, c.Inner = true, f.GPT2Layers, f.GPT2Width, f.GPT2Heads, f.GPT2Inner
		c.Context, c.Epsilon = f.GPT2Context, f.GPT2Epsilon
		if c.Inner == 0 {
			c.Inner = 4 * c.Width
		}
		if a := f.GPT2Activation; a != "" && a != "gelu_new" {
			return c, fmt.Errorf("decoder: config.json: activation_function is %q, want gelu_new", a)
		}
	case "llama":
		c.Layers, c.Width, c.Heads, c.Inner, c.Context = f.Layers, f.Width, f.Heads, f.Inner, f.Context
		c.KeyHeads, c.HeadDim, c.Epsilon, c.Base = f.KeyHeads, f.HeadDim, f.Epsilon, f.Base
		c.Untied = f.Tied == nil || !*f.Tied
		if a := f.Activation; a != "" && a != "silu" {
			return c, fmt.Errorf("decoder: config.json: hidden_act is %q, want silu", a)
		}
		var err error
		if c.Scaling, err = f.Scaling.rotary(); err != nil {
			return c, err
		}
	default:
		return c, fmt.Errorf("decoder: config.json: model_type is %q, want llama or gpt2", f.ModelType)
	}
	if c.KeyHeads == 0 {
		c.KeyHeads = c.Heads
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Width / c.Heads
	}
	return c, c.check()
}

func (s *scaling) rotary() (layer.RotaryScaling, error) {
	if s == nil {
		return nil, nil
	}
	kind := s.Type
	if kind == "" {
		kind = s.OldType
	}
	switch kind {
	case "", "default":
		return nil, nil
	case "linear":
		return layer.RotaryLinear{Factor: s.Factor}, nil
	case "llama3":
		return layer.RotaryLlama3{Factor: s.Factor, LowFrequency: s.Low, HighFrequency: s.High, Context: s.Context}, nil
	case "yarn":
		return layer.RotaryYaRN{Factor: s.Factor, Context: s.Context, Fast: s.Fast, Slow: s.Slow, Length: s.Length}, nil
	}
	return nil, fmt.Errorf("decoder: config.json: rope_type is %q, want linear, llama3 or yarn", kind)
}

// JSON returns config.json for a model with the layers of Llama without scaling.
func (c Config) JSON() ([]byte, error) {
	tied := !c.Untied
	return json.MarshalIndent(file{
		ModelType: "llama", Vocabulary: c.Vocabulary, Layers: c.Layers, Width: c.Width,
		Heads: c.Heads, KeyHeads: c.KeyHeads, HeadDim: c.HeadDim, Inner: c.Inner, Context: c.Context,
		Epsilon: c.Epsilon, Base: c.Base, Tied: &tied, Activation: "silu",
	}, "", "  ")
}

func (c Config) check() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"vocabulary", c.Vocabulary}, {"number of layers", c.Layers}, {"width", c.Width}, {"number of heads", c.Heads},
		{"number of heads of keys", c.KeyHeads}, {"width of heads", c.HeadDim}, {"inner width", c.Inner},
	} {
		if n.value < 1 {
			return fmt.Errorf("decoder: the %s is %d, want at least 1", n.name, n.value)
		}
	}
	switch {
	case c.Heads%c.KeyHeads != 0:
		return fmt.Errorf("decoder: %d heads for %d heads of keys, want a multiple", c.Heads, c.KeyHeads)
	case c.GPT2 && c.Context < 1:
		return fmt.Errorf("decoder: %d learnt positions, want at least 1", c.Context)
	case c.GPT2 && (c.KeyHeads != c.Heads || c.Heads*c.HeadDim != c.Width):
		return fmt.Errorf("decoder: %d heads of %d columns and width %d, want heads that make up the width", c.Heads, c.HeadDim, c.Width)
	case !(c.Epsilon >= 0):
		return fmt.Errorf("decoder: the epsilon of norms is %v, want at least 0", c.Epsilon)
	}
	return nil
}
