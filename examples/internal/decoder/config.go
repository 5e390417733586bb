package decoder

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Config holds the sizes of a decoder, with the names of Hugging Face's config.json.
type Config struct {
	Vocabulary int     `json:"vocab_size"`
	Layers     int     `json:"num_hidden_layers"`
	Width      int     `json:"hidden_size"`
	Heads      int     `json:"num_attention_heads"`
	KeyHeads   int     `json:"num_key_value_heads"` // heads of keys and values
	HeadDim    int     `json:"head_dim"`            // columns of a head
	Inner      int     `json:"intermediate_size"`   // columns of the inner layers
	Epsilon    float64 `json:"rms_norm_eps"`
	Base       float64 `json:"rope_theta"` // of rotary positions

	Tied bool `json:"tie_word_embeddings"`

	End TokenIDs `json:"eos_token_id"` // that end a text
}

// In JSON a list of tokens may also be one number.
type TokenIDs []int

func (t *TokenIDs) UnmarshalJSON(data []byte) error {
	if data[0] != '[' && data[0] != 'n' {
		data = fmt.Appendf(nil, "[%s]", data)
	}
	return json.Unmarshal(data, (*[]int)(t))
}

// ParseConfig reads the file config.json of a model of Llama. It returns an error for a model that
// the package does not compute.
func ParseConfig(data []byte) (Config, error) {
	var f struct {
		ModelType string `json:"model_type"`
		Config
		Activation string `json:"hidden_act"`
		Scaling    any    `json:"rope_scaling"`
	}
	f.Activation = "silu"
	if err := json.Unmarshal(data, &f); err != nil {
		return Config{}, fmt.Errorf("decoder: config.json: %w", err)
	}
	switch {
	case f.ModelType != "llama":
		return f.Config, fmt.Errorf("decoder: config.json: model_type is %q, want llama", f.ModelType)
	case f.Activation != "silu":
		return f.Config, fmt.Errorf("decoder: config.json: hidden_act is %q, want silu", f.Activation)
	case f.Scaling != nil:
		return f.Config, fmt.Errorf("decoder: config.json: rope_scaling is %v, want none", f.Scaling)
	}
	c := f.Config
	c.KeyHeads = cmp.Or(c.KeyHeads, c.Heads)
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Width / c.Heads
	}
	return c, c.check()
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
	case c.HeadDim%2 != 0:
		return fmt.Errorf("decoder: the width of heads is %d, want an even number for rotary positions", c.HeadDim)
	case !(c.Epsilon >= 0):
		return fmt.Errorf("decoder: the epsilon of norms is %v, want at least 0", c.Epsilon)
	}
	return nil
}
