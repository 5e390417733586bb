package layer_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// modelRow is a row of the table of models in docs/names.md. The page has the config.json and the
// text of exact and rotary.
type modelRow struct {
	model string
	layer int
	every int // each layer of this number is global, and the others are local; 0 if all are alike
	sinks bool
	norms bool // queries and keys are normalised, with gains
	exact performer.ExactOptions
	rope  *layer.RotaryOptions
}

// ramp returns n growing divisors of angles.
func ramp(n int, last float64) []float64 {
	divisors := make([]float64, n)
	for i := range divisors {
		divisors[i] = 1 + (last-1)*float64(i)/float64(n)
	}
	return divisors
}

// modelTokens is the number of tokens for scalings that depend on it.
const modelTokens = 40000

// dynamicBase is the base of InternLM2.5 for modelTokens tokens.
var dynamicBase = 1e6 * math.Pow(max(1, 2*float64(modelTokens)/32768-1), 128.0/126)

func modelRows() []modelRow {
	linear := layer.RotaryOptions{Base: 1e6, Scaling: layer.RotaryLinear{Factor: 8}}
	yarn := layer.RotaryOptions{Base: 150000, Scaling: layer.RotaryYaRN{Factor: 32, Context: 4096, Unrounded: true}}
	longRoPE := layer.RotaryLongRoPE{Short: ramp(48, 2), Long: ramp(48, 60), Factor: 32, Context: 4096, Tokens: modelTokens}
	scale := 1 / math.Sqrt(168)
	return []modelRow{
		{model: "Llama 3.1 8B", exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}},
			rope: &layer.RotaryOptions{Base: 500000, Scaling: layer.RotaryLlama3{Factor: 8, LowFrequency: 1, HighFrequency: 4, Context: 8192}}},
		{model: "Mistral 7B v0.1", exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 4095}, rope: &layer.RotaryOptions{Base: 10000}},
		{model: "Qwen3 8B, long context", norms: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}},
			rope: &layer.RotaryOptions{Base: 1e6, Scaling: layer.RotaryYaRN{Factor: 4, Context: 32768}}},
		{model: "Gemma 2 9B", layer: 0, every: 2, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Softcap: 50, Window: 4095}, rope: &layer.RotaryOptions{Base: 10000}},
		{model: "Gemma 2 9B", layer: 1, every: 2, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Softcap: 50}, rope: &layer.RotaryOptions{Base: 10000}},
		{model: "Gemma 3 27B", layer: 0, every: 6, norms: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Scale: scale, Causal: true}, Window: 1023}, rope: &layer.RotaryOptions{Base: 10000}},
		{model: "Gemma 3 27B", layer: 5, every: 6, norms: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Scale: scale, Causal: true}}, rope: &linear},
		{model: "gpt-oss 20B", layer: 0, every: 2, sinks: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 127}, rope: &yarn},
		{model: "gpt-oss 20B", layer: 1, every: 2, sinks: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, rope: &yarn},
		{model: "Phi-3.5 mini", exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, rope: &layer.RotaryOptions{Base: 10000, Scaling: longRoPE}},
		{model: "Phi-4 mini", exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, rope: &layer.RotaryOptions{Dim: 96, Base: 10000, Scaling: longRoPE}},
		{model: "InternLM2.5 7B", exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}},
			rope: &layer.RotaryOptions{Base: dynamicBase}},
		{model: "Llama 4 Scout", layer: 0, every: 4, norms: true, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Chunk: 8192},
			rope: &layer.RotaryOptions{Base: 500000, Neighbours: true, Scaling: layer.RotaryLlama3{Factor: 16, LowFrequency: 1, HighFrequency: 1, Context: 8192}}},
		{model: "Llama 4 Scout", layer: 3, every: 4, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}},
		{model: "Command R7B", layer: 0, every: 4, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 4095}, rope: &layer.RotaryOptions{Base: 50000, Neighbours: true}},
		{model: "Command R7B", layer: 3, every: 4, exact: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}},
	}
}

// goText returns the Go text of options, without fields that are zero. Slices, Tokens, Scale and
// SinkWeight have the text of the page.
func goText(v reflect.Value, sinks bool) string {
	var fields []string
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.Kind() == reflect.Interface && !f.IsNil() {
			f = f.Elem()
		}
		var text string
		switch {
		case f.IsZero():
			continue
		case name == "Scale":
			text = "1/math.Sqrt(" + strconv.FormatFloat(math.Round(1/f.Float()/f.Float()), 'f', -1, 64) + ")"
		case name == "Tokens":
			text = "tokens"
		case f.Kind() == reflect.Slice:
			text = strings.ToLower(name) + "_factor"
		case f.Kind() == reflect.Struct:
			text = goText(f, false)
		case name == "Base" && f.Float() == dynamicBase:
			text = "1e6 * math.Pow(max(1, 2*float64(tokens)/32768-1), 128.0/126)"
		case f.Kind() == reflect.Float64:
			text = strconv.FormatFloat(f.Float(), 'f', -1, 64)
		default:
			text = fmt.Sprint(f)
		}
		fields = append(fields, name+": "+text)
	}
	if sinks {
		fields = append(fields, "SinkWeight: math.Exp(sinks[h])")
	}
	return v.Type().Name() + "{" + strings.Join(fields, ", ") + "}"
}

// modelConfig holds the fields of a config.json that say how attention is computed.
type modelConfig struct {
	HiddenSize      int      `json:"hidden_size"`
	Heads           int      `json:"num_attention_heads"`
	HeadDim         int      `json:"head_dim"`
	Theta           float64  `json:"rope_theta"`
	LocalTheta      float64  `json:"rope_local_base_freq"`
	Partial         float64  `json:"partial_rotary_factor"`
	Window          int      `json:"sliding_window"`
	Chunk           int      `json:"attention_chunk_size"`
	Softcap         float64  `json:"attn_logit_softcapping"`
	QueryScalar     float64  `json:"query_pre_attn_scalar"`
	Epsilon         float64  `json:"rms_norm_eps"`
	Positions       float64  `json:"max_position_embeddings"`
	OriginalOutside float64  `json:"original_max_position_embeddings"`
	Scaling         *scaling `json:"rope_scaling"`
}

type scaling struct {
	Type     string    `json:"rope_type"`
	Factor   float64   `json:"factor"`
	Low      float64   `json:"low_freq_factor"`
	High     float64   `json:"high_freq_factor"`
	Original float64   `json:"original_max_position_embeddings"`
	Truncate *bool     `json:"truncate"`
	Fast     float64   `json:"beta_fast"`
	Slow     float64   `json:"beta_slow"`
	Short    []float64 `json:"short_factor"`
	Long     []float64 `json:"long_factor"`
}

// frequencies returns the angles per position of dim coordinates and the factor of sines and
// cosines, by the formulas of each type of scaling.
func (c *modelConfig) frequencies(dim int, local bool) (omega []float64, factor float64) {
	theta, s := c.Theta, c.Scaling
	if local && c.LocalTheta != 0 {
		theta, s = c.LocalTheta, nil // local layers of Gemma 3 are not scaled
	}
	if s == nil {
		s = &scaling{}
	}
	factor = 1
	if s.Type == "dynamic" {
		d := float64(dim)
		theta *= math.Pow(max(1, s.Factor*modelTokens/c.Positions-(s.Factor-1)), d/(d-2))
	}
	between := func(turns float64) float64 {
		return float64(dim) * math.Log(s.Original/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	for i := range dim / 2 {
		w := math.Pow(theta, -2*float64(i)/float64(dim))
		switch s.Type {
		case "linear":
			w /= s.Factor
		case "llama3":
			switch length := 2 * math.Pi / w; {
			case length > s.Original/s.Low:
				w /= s.Factor
			case length >= s.Original/s.High:
				smooth := (s.Original/length - s.Low) / (s.High - s.Low)
				w = (1-smooth)*w/s.Factor + smooth*w
			}
		case "yarn":
			fast, slow := 32.0, 1.0
			if s.Fast != 0 {
				fast, slow = s.Fast, s.Slow
			}
			low, high := between(fast), between(slow)
			if s.Truncate == nil || *s.Truncate {
				low, high = math.Floor(low), math.Ceil(high)
			}
			interpolated := min(max((float64(i)-low)/(high-low), 0), 1)
			w = w/s.Factor*interpolated + w*(1-interpolated)
			factor = 0.1*math.Log(s.Factor) + 1
		case "longrope":
			w /= s.Long[i] // modelTokens are more than in training
			factor = math.Sqrt(1 + math.Log(c.Positions/c.OriginalOutside)/math.Log(c.OriginalOutside))
		}
		omega = append(omega, w)
	}
	return omega, factor
}

// sees reports whether a query at position i sees key j.
func (c *modelConfig) sees(i, j int, local bool) bool {
	switch {
	case j > i:
		return false
	case local && c.Chunk != 0:
		return i/c.Chunk == j/c.Chunk
	case local && c.Window != 0:
		return j > i-c.Window
	}
	return true
}

// modelsOfPage returns the cells of the table of models. An empty cell stands for the cell above.
func modelsOfPage(t *testing.T) (rows [][]string) {
	t.Helper()
	_, section, found := strings.Cut(string(must.Have(os.ReadFile("../../docs/names.md"))), "\n## Models\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| model ") || strings.HasPrefix(line, "| --- ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		require.Len(t, cells, 5, line)
		for i := range cells {
			if cells[i] = strings.Trim(cells[i], " `"); cells[i] == "" {
				cells[i] = rows[len(rows)-1][i]
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// TestModels: the options of the page compute the attention that the config.json of the page asks
// for, of two heads of queries over one of keys.
func TestModels(t *testing.T) {
	rows := modelRows()
	page := modelsOfPage(t)
	require.Len(t, page, len(rows))
	for i, r := range rows {
		t.Run(fmt.Sprintf("%s, layer %d", r.model, r.layer), func(t *testing.T) {
			cells := page[i]
			require.Equal(t, r.model, cells[0])
			first := strings.FieldsFunc(strings.ReplaceAll(cells[1], "all", "0"), func(r rune) bool { return r == ' ' || r == ',' })[0]
			require.Equal(t, strconv.Itoa(r.layer), first)
			require.Equal(t, goText(reflect.ValueOf(r.exact), r.sinks), cells[3])
			rope := "none"
			if r.rope != nil {
				rope = goText(reflect.ValueOf(*r.rope), false)
			}
			require.Equal(t, rope, cells[4])
			lists, err := json.Marshal(map[string]any{"short_factor": ramp(48, 2), "long_factor": ramp(48, 60)})
			require.NoError(t, err)
			text := strings.ReplaceAll(cells[2], `"short_factor": […], "long_factor": […]`, strings.Trim(string(lists), "{}"))
			var c modelConfig
			require.NoError(t, json.Unmarshal([]byte("{"+text+"}"), &c))
			testModel(t, r, &c)
		})
	}
}

func testModel(t *testing.T, r modelRow, c *modelConfig) {
	const queries, width = 50, 6
	d := c.HeadDim
	if d == 0 {
		d = c.HiddenSize / c.Heads
	}
	local := r.every == 0 || (r.layer+1)%r.every != 0
	keys := 300
	if local {
		keys = max(c.Window, c.Chunk, 260) + 40
	}
	rng := rand.New(rand.NewPCG(uint64(r.layer), uint64(d)))
	normal := func(rows, cols int, size float64) dense.Matrix[float64] {
		return densetest.Normal[float64](rng, rows, cols, 0, size)
	}
	x := normal(keys, width, 1)
	p := layer.Projections[float64]{Query: normal(2*d, width, 0.3), Key: normal(d, width, 0.3), Value: normal(3, width, 1)}
	if r.norms {
		p.QueryNorm, p.KeyNorm = normal(1, d, 1).Data, normal(1, d, 1).Data
	}
	sinks := normal(1, 2, 2).Data

	var heads []performer.Attention[float64]
	for h := range 2 {
		o := r.exact
		if r.sinks {
			o.SinkWeight = math.Exp(sinks[h])
		}
		heads = append(heads, must.Have(performer.NewExact[float64](o)))
	}
	l := must.Have(layer.New(p, must.Have(performer.NewBatch(performer.BatchOptions{Heads: 2, KeyHeads: 1}, heads...)), layer.Options{Rotary: r.rope, Epsilon: c.Epsilon}))
	got := l.ForwardCross(dense.Matrix[float64]{}, x.RowRange(keys-queries, keys), x, x,
		performer.Sequences{Queries: []int{queries}, Keys: []int{keys}, Past: []int{keys - queries}})

	q, k, v := normed(product(x, p.Query, nil), p.QueryNorm, c.Epsilon), normed(product(x, p.Key, nil), p.KeyNorm, c.Epsilon), product(x, p.Value, nil)
	if r.rope != nil {
		dim := d
		if c.Partial != 0 {
			dim = int(c.Partial * float64(d))
		}
		omega, factor := c.frequencies(dim, local)
		for i := range keys {
			for _, head := range [][]float64{q.Row(i)[:d], q.Row(i)[d:], k.Row(i)} {
				for j, w := range omega {
					a, b := &head[j], &head[j+dim/2]
					if r.rope.Neighbours {
						a, b = &head[2*j], &head[2*j+1]
					}
					sin, cos := math.Sincos(float64(i) * w)
					*a, *b = factor*(*a*cos-*b*sin), factor*(*a*sin+*b*cos)
				}
			}
		}
	}
	scale := 1 / math.Sqrt(float64(d))
	if c.QueryScalar != 0 {
		scale = 1 / math.Sqrt(c.QueryScalar)
	}
	for i := range queries {
		for h := range 2 {
			at, total, out := keys-queries+i, 0.0, make([]float64, 3)
			query := q.Row(at)[h*d:][:d]
			if r.sinks {
				total = math.Exp(sinks[h])
			}
			for j := range keys {
				if !c.sees(at, j, local) {
					continue
				}
				score := scale * floats.Dot(query, k.Row(j))
				if c.Softcap != 0 {
					score = c.Softcap * math.Tanh(score/c.Softcap)
				}
				weight := math.Exp(score)
				total += weight
				for n, y := range v.Row(j) {
					out[n] += weight * y
				}
			}
			for n, y := range out {
				require.InDelta(t, y/total, got.At(i, 3*h+n), 1e-9, "query %d, head %d", at, h)
			}
		}
	}
}
