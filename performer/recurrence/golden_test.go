package recurrence_test

import (
	"math"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// recurrenceGolden holds small cases of the operator LinearAttention, opset 27, whose outputs and
// states were computed by the reference implementation of ONNX 1.23 in NumPy, with float64 in
// place of its float32. Inputs are from numpy.random.default_rng(27), rounded to two digits, in
// the layout of the operator: (batch, tokens, heads·d), and (batch, keyHeads, d, dv) for states.
var recurrenceGolden = []struct {
	rule                                     recurrence.Rule
	batch, tokens, heads, keyHeads, d, dv    int
	scale                                    float64
	q, k, v, past, decay, beta, out, present []float64
}{
	{
		rule: recurrence.Linear, batch: 2, tokens: 2, heads: 2, keyHeads: 1, d: 2, dv: 2, scale: 0,
		q:       []float64{1.25, .78, .96, -1.08, .87, -.17, -.19, 1.12, -.44, -1.28, -.47, -1.2, -1.84, -.15, .4, -2.16},
		k:       []float64{.01, .26, .17, -1.27, -.31, -.19, .43, -1.29},
		v:       []float64{.38, .99, -2.29, .22, -1.53, -.17, -.68, 1.27},
		out:     []float64{.057851234195996, .150717689089569, -.072871596441961, -.189849685467214, -.598630944098282, .031742730514245, 2.433293734098804, -.02377787973096, -.410679133231773, -.04563101480353, -.404296080318002, -.044921786702, -.360540312698178, -.608742571069249, -1.732343731656048, 2.622291355894688},
		present: []float64{-.3855, .0473, 3.0071, -.022, .1819, .5988, 1.1679, -1.606},
	},
	{
		rule: recurrence.Gated, batch: 1, tokens: 3, heads: 2, keyHeads: 2, d: 2, dv: 1, scale: 0,
		q:       []float64{.06, .8, -1.05, .46, 1.42, -.71, .67, .48, -.06, -1.25, .28, -.27},
		k:       []float64{.6, .78, 1.53, -.84, .87, .7, .08, .61, .13, .67, .39, -.56},
		v:       []float64{.11, .66, -.85, -.4, 1.31, .32},
		past:    []float64{.92, 2.48, .57, .2},
		decay:   []float64{-.62, -.56, -1.42, -.47, -1.89, -.53, -.88, -.1, -1.58, -.27, -.76, -1.2},
		out:     []float64{.873682270136021, -.99170285715367, -.802693024728436, -.004342190737038, -.972502733436681, .136405925880651},
		present: []float64{.035435233775013, 1.098560352835648, .332441707316419, -.369716415999552},
	},
	{
		rule: recurrence.Delta, batch: 1, tokens: 3, heads: 2, keyHeads: 1, d: 2, dv: 2, scale: 0,
		q:       []float64{-1.23, -.25, -.67, -1.87, .55, -.06, -.73, -1.5, .44, 1.35, .1, -.51},
		k:       []float64{.61, -.98, -2.18, 1.71, 1.69, -.3},
		v:       []float64{.07, 1.67, -1.1, .12, .87, 1.74},
		past:    []float64{-.58, 1.55, -.75, .19},
		beta:    []float64{.97, .72, .89},
		out:     []float64{.744888825300408, -1.697318900458076, .962567384883324, -.096135863434841, 1.040254007211482, -3.021760747629998, 1.862152227305633, -3.250932502101204, -2.887170448374746, 7.338293484437423, .405964761497612, .322102044183399},
		present: []float64{-3.637466282518174, 16.43764519758477, -1.838955881975096, 2.32988909883572},
	},
	{
		rule: recurrence.GatedDelta, batch: 2, tokens: 2, heads: 2, keyHeads: 2, d: 2, dv: 1, scale: 0.25,
		q:       []float64{.17, -.27, -1.68, 1.32, .2, .68, .59, -.56, -.44, -.44, 1.16, -.52, -2.25, -.32, -.92, .93},
		k:       []float64{-.66, .4, -.06, .17, -.9, -.47, -.08, .44, .38, -1.19, -.33, .95, .68, -.57, -.52, 1.54},
		v:       []float64{.7, -1.72, 2.08, .68, .26, -.5, -1.1, -.65},
		past:    []float64{.96, -.26, -.99, .31, 1.29, 1.84, .92, -1.25},
		decay:   []float64{-.8, -1.17, -2.05, -1.38, -1.32, -.57, -.12, -.64},
		beta:    []float64{.78, .75, 1.0, .27, .38, .04, .39, .13},
		out:     []float64{-.018070014905193, .053802661891933, -.25605470293786, -.017645102177583, -.067801097275343, .239770411154649, -.066519715299546, -.144207451337239},
		present: []float64{-1.885598820842465, -.951616246445512, -.072328445075369, .049833260921189, .056362686489218, .435196301867011, .268244282571931, -.354887167078259},
	},
	{
		rule: recurrence.GatedDelta, batch: 1, tokens: 4, heads: 4, keyHeads: 2, d: 2, dv: 1, scale: 0,
		q:       []float64{-.72, -1.51, .13, -.15, -.99, 1.6, .93, -.35, .92, -1.99, .52, .23, 2.31, 1.41, .73, -.21, -.32, .45, -.08, -.57, 1.4, -.36, -1.64, .46, -.45, .26, .95, -1.18, -1.78, -.97, .81, 1.8},
		k:       []float64{1.6, -.39, -.01, .43, -.75, .02, -.17, 1.14, -.43, 1.89, .86, .17, -1.62, .22, .1, 1.41},
		v:       []float64{.39, 2.22, -.07, -1.63, .59, -1.33, .13, -.68},
		decay:   []float64{-1.19, -.85, -.82, -1.7, -1.04, -1.11, -.33, -1.13, -.44, math.Inf(-1), -1.33, -.18, -.13, -1.35, -.55, -.04},
		beta:    []float64{.78, 1.0, .34, .94},
		out:     []float64{-.121123870225485, .057324651776047, .854526976797003, -.19566329114796, .136067880665334, .040598655696217, -1.417902699621777, .447844554853387, .12999087474831, -.161394936992439, .183035555655223, -.259878323427305, .070701147243503, -.204373609625919, -.367397069332711, .666254259556269},
		present: []float64{-.15083391973981, .123504836246865, .008800073295243, .519498750268985},
	},
}

// The tensors of the operator are the matrices of a Recurrence, sequence after sequence.
//
//ci:portable
func TestRecurrenceGolden(t *testing.T) {
	densetest.Both(t, testRecurrenceGolden[float32], testRecurrenceGolden[float64])
}

func testRecurrenceGolden[T dense.Float](t *testing.T) {
	for at, c := range recurrenceGolden {
		rows := c.batch * c.tokens
		matrix := func(rows int, x []float64) dense.Matrix[float64] {
			if len(x) == 0 {
				return dense.Matrix[float64]{}
			}
			return dense.Of(rows, len(x)/rows, x)
		}
		x := recurrence.Tokens[float64]{Q: matrix(rows, c.q), K: matrix(rows, c.k), V: matrix(rows, c.v), Decay: matrix(rows, c.decay), Beta: matrix(rows, c.beta)}
		for range c.batch {
			x.Lengths = append(x.Lengths, c.tokens)
		}
		past := convertTokens[T](recurrence.Tokens[float64]{Q: matrix(c.batch*c.keyHeads*c.d, c.past)}).Q
		present := dense.New[T](c.batch*c.keyHeads*c.d, c.dv)
		r := must.Have(recurrence.New[T](recurrence.Options{Heads: c.heads, KeyHeads: c.keyHeads, Rule: c.rule, Scale: c.scale}))
		out := r.Forward(dense.Matrix[T]{}, convertTokens[T](x), past, present)
		requireNear(t, matrix(rows, c.out), out, recurrenceTolerance[T](), "case %d, %v", at, c.rule)
		requireNear(t, matrix(present.Rows, c.present), present, recurrenceTolerance[T](), "case %d, %v: present", at, c.rule)
	}
}
