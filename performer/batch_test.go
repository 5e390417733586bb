package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// bidirectionalForm returns the form that lets all queries see all keys.
func bidirectionalForm[T dense.Float](form performer.Attention[T]) (all performer.Attention[T], causal bool) {
	switch f := form.(type) {
	case performer.Linear[T]:
		return must.Have(performer.NewLinearOf(performer.InsideOf(f).Query, performer.InsideOf(f).Key, performer.LinearOptions{})), performer.InsideOf(f).Options.Causal
	case performer.Exact[T]:
		return must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: f.Options().Scale}})), f.Options().Causal
	}
	panic(fmt.Sprintf("%T", form))
}

// eachQuery is the truth of a batch with one form: for every head, each run of queries that see
// the same keys goes over a copy of these keys.
func eachQuery[T dense.Float](form performer.Attention[T], heads, keyHeads int, q, k, v dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	all, causal := bidirectionalForm(form)
	d, dv := q.Cols/heads, v.Cols/keyHeads
	out := dense.New[T](q.Rows, heads*dv)
	if s.Queries == nil {
		s.Queries, s.Keys = []int{q.Rows}, []int{k.Rows}
	}
	if s.Keys == nil {
		s.Keys = s.Queries
	}
	q0, k0 := 0, 0
	for at, lq := range s.Queries {
		past := 0
		if s.Past != nil {
			past = s.Past[at]
		}
		seenBy := func(i int) (seen []int) {
			for j := k0; j < k0+s.Keys[at]; j++ {
				if (s.Valid == nil || s.Valid[j]) && (!causal || j-k0 <= i-q0+past) {
					seen = append(seen, j)
				}
			}
			return seen
		}
		for i := q0; i < q0+lq; {
			seen, next := seenBy(i), i+1
			for next < q0+lq && slices.Equal(seen, seenBy(next)) {
				next++
			}
			for h := range heads {
				g := h / (heads / keyHeads)
				keys, values := dense.New[T](len(seen), d), dense.New[T](len(seen), dv)
				for r, j := range seen {
					copy(keys.Row(r), k.Row(j)[g*d:])
					copy(values.Row(r), v.Row(j)[g*dv:])
				}
				all.Forward(out.RowRange(i, next).ColRange(h*dv, h*dv+dv), q.RowRange(i, next).ColRange(h*d, h*d+d), keys, values)
			}
			i = next
		}
		q0, k0 = q0+lq, k0+s.Keys[at]
	}
	return out
}

// masks returns which of n keys count: nil, a prefix, none, and any, with gaps at both ends.
func masks(rng *rand.Rand, n int) map[string][]bool {
	prefix, gaps := make([]bool, n), make([]bool, n)
	for j := range n {
		prefix[j] = j < n*2/3
		gaps[j] = rng.IntN(3) > 0
	}
	for j := range min(2, n) {
		gaps[j], gaps[n-1-j] = false, false
	}
	return map[string][]bool{"all": nil, "prefix": prefix, "none": make([]bool, n), "gaps": gaps}
}

func sum(x []int) int {
	n := 0
	for _, y := range x {
		n += y
	}
	return n
}

// Every combination of forms, grouped heads, lengths, masks and pasts. What does not
// count is NaN.
func TestBatchAgainstEachQuery(t *testing.T) {
	densetest.Both(t, testBatch[float32], testBatch[float64])
}

func testBatch[T dense.Float](t *testing.T) {
	const d, dv = 3, 2
	rng := rand.New(densetest.Source(200))
	layouts := []performer.Sequences{
		{},
		{Queries: []int{5, 0, 70, 1}},
		{Queries: []int{3, 4, 0, 66, 9}, Keys: []int{66, 0, 5, 3, 9}},
		{Queries: []int{3, 5, 4, 70, 3, 2}, Keys: []int{7, 70, 0, 80, 1, 140}, Past: []int{4, 20, 3, -2, 50, 138}},
		{Queries: []int{9, 70, 4}, Keys: []int{12, 70, 4}, Past: []int{2, -65, -4}},
	}
	for _, form := range append(everyForm[T](d), attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{}), attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: true})) {
		for _, heads := range [][2]int{{1, 1}, {4, 2}, {3, 1}} {
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads[0], KeyHeads: heads[1]}, form))
			for at, s := range layouts {
				lq, lk := sum(s.Queries), sum(s.Keys)
				if s.Keys == nil {
					lk = lq
				}
				if s.Queries == nil {
					lq, lk = 20, 13
				}
				// A positive mean keeps the denominators of signed maps away from zero.
				q := densetest.Normal[T](rng, lq, heads[0]*d, 0.4, 0.2)
				for name, valid := range masks(rng, lk) {
					k, v := densetest.Normal[T](rng, lk, heads[1]*d, 0.4, 0.2), densetest.Normal[T](rng, lk, heads[1]*dv, 0.4, 0.2)
					s.Valid = valid
					for j, counts := range valid {
						if !counts {
							layout.Fill(k.Row(j), T(math.NaN()))
							layout.Fill(v.Row(j), T(math.NaN()))
						}
					}
					want := eachQuery(form, heads[0], heads[1], q, k, v, s)
					got := b.ForwardSequences(dense.Matrix[T]{}, q, k, v, s)
					// Both sum up to 32 features of each key, above and below the line.
					u := 2 * float64(lk+32) * densetest.Roundoff[T]()
					for i, x := range got.Data {
						y := float64(want.Data[i])
						if tol := u * (1 + math.Abs(y)); !(math.Abs(float64(x)-y) <= tol) {
							require.InDelta(t, y, float64(x), tol, "%T %+v, %v heads, layout %d, %s, element %d", form, form, heads, at, name, i)
						}
					}
				}
			}
		}
	}
}

// A batch has the bits of the form over the views, for any number of processors, into
// new memory, a view and q itself.
func TestBatchIsTheFormOverViews(t *testing.T) {
	densetest.Both(t, testBatchBits[float32], testBatchBits[float64])
}

func testBatchBits[T dense.Float](t *testing.T) {
	const d, heads, keyHeads = 4, 4, 2
	rng := rand.New(densetest.Source(201))
	lengths := []int{300, 1, 0, 129}
	n := sum(lengths)
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0, 1)
	for _, form := range everyForm[T](d) {
		want := dense.New[T](n, heads*d)
		from := 0
		for _, l := range lengths {
			for h := range heads {
				g := h / (heads / keyHeads)
				view := func(m dense.Matrix[T], h int) dense.Matrix[T] {
					return m.RowRange(from, from+l).ColRange(h*d, h*d+d)
				}
				form.Forward(view(want, h), view(q, h), view(k, g), view(v, g))
			}
			from += l
		}
		b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, form))
		s := performer.Sequences{Queries: lengths}
		for _, processors := range []int{1, 2, 5, 32} {
			before := runtime.GOMAXPROCS(processors)
			got := b.ForwardSequences(dense.Matrix[T]{}, q, k, v, s)
			runtime.GOMAXPROCS(before)
			require.True(t, densetest.Identical(want, got), "%T %+v, %d processors", form, form, processors)
		}
		wide := densetest.Filled[T](n, heads*d+2, 7)
		b.ForwardSequences(wide.ColRange(1, heads*d+1), q, k, v, s)
		require.True(t, densetest.Identical(want, wide.ColRange(1, heads*d+1)), "%T: into a view", form)
		assert.Equal(t, densetest.Filled[T](n, 1, 7), wide.ColRange(0, 1).Clone(), "left of it")
		assert.Equal(t, densetest.Filled[T](n, 1, 7), wide.ColRange(heads*d+1, heads*d+2).Clone(), "right of it")
		all := make([]bool, n)
		for i := range all {
			all[i] = true
		}
		in := q.Clone()
		require.True(t, densetest.Identical(want, b.ForwardSequences(in, in, k, v, performer.Sequences{Queries: lengths, Valid: all, Past: make([]int, 4)})), "%T: into q", form)
	}
}

// A past of any size shows all keys, or none.
func TestExtremePasts(t *testing.T) {
	const d = 3
	var none dense.Matrix[float64]
	rng := rand.New(densetest.Source(202))
	q, k, v := densetest.Normal[float64](rng, 4, d, 0, 1), densetest.Normal[float64](rng, 6, d, 0, 1), densetest.Normal[float64](rng, 6, d, 0, 1)
	elu := must.Have(rff.Draw[float64](rff.ELU{D: d}, nil))
	for _, causal := range []bool{false, true} {
		for _, form := range []performer.Attention[float64]{
			must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})),
			must.Have(performer.NewLinear[float64](elu, performer.LinearOptions{Causal: causal})),
		} {
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: 1}, form))
			want := b.ForwardSequences(none, q, k, v, performer.Sequences{Queries: []int{4}, Keys: []int{6}, Past: []int{6}})
			for past, all := range map[int]bool{math.MaxInt: true, math.MaxInt - 2: true, math.MinInt: false} {
				got := b.ForwardSequences(none, q, k, v, performer.Sequences{Queries: []int{4}, Keys: []int{6}, Past: []int{past}})
				if all || !causal {
					require.Equal(t, want, got, "%T, past %d", form, past)
				} else {
					require.Equal(t, dense.New[float64](4, d), got, "%T, past %d", form, past)
				}
			}
		}
	}
}

// Neither what padding holds nor how much of it there is at the end changes a bit of
// the outputs of valid tokens.
func TestPaddingDoesNotMatter(t *testing.T) {
	densetest.Both(t, testPadding[float32], testPadding[float64])
}

func testPadding[T dense.Float](t *testing.T) {
	const d, heads, n = 4, 2, 100
	rng := rand.New(densetest.Source(203))
	x := densetest.Normal[T](rng, n, heads*d, 0, 1)
	elu := must.Have(rff.Draw[T](rff.ELU{D: d}, nil))
	all := append(everyForm[T](d), attention[T](elu, performer.LinearOptions{}), attention[T](elu, performer.LinearOptions{Causal: true}))
	for _, gap := range []int{0, 7} {
		for _, form := range all {
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads}, form))
			want := dense.Matrix[T]{}
			for at, padding := range []int{0, 1, 30, 200, 1000} {
				padded, valid := dense.New[T](n+padding, heads*d), make([]bool, n+padding)
				for i := range padded.Rows {
					if i < n && (gap == 0 || i%gap != 1) {
						copy(padded.Row(i), x.Row(i))
						valid[i] = true
						continue
					}
					content := []float64{0, 1e30, math.Inf(1), math.NaN(), -1}[(at+i)%5]
					layout.Fill(padded.Row(i), T(content))
				}
				got := b.ForwardSequences(dense.Matrix[T]{}, padded, padded, padded, performer.Sequences{Valid: valid})
				if at == 0 {
					want = got
				}
				for i := range n {
					if valid[i] {
						require.True(t, densetest.Identical(want.RowRange(i, i+1), got.RowRange(i, i+1)), "%T %+v, gap %d, %d rows of padding, row %d", form, form, gap, padding, i)
						require.False(t, hasNaN(got.Row(i)))
					}
				}
			}
		}
	}
}

// Calls into memory that is there allocate nothing after the first call of a size.
func TestBatchAllocatesNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testBatchAllocations[float32], testBatchAllocations[float64])
}

func testBatchAllocations[T dense.Float](t *testing.T) {
	const d = 8
	rng := rand.New(densetest.Source(204))
	s := performer.Sequences{Queries: []int{70, 3, 20, 0}, Keys: []int{70, 90, 5, 4}, Past: []int{0, 40, 0, 0}}
	q, kv := densetest.Normal[T](rng, 93, 4*d, 0, 1), densetest.Normal[T](rng, 169, 2*d, 0, 1)
	dst, single := dense.New[T](93, 4*d), q.ColRange(0, d)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	for _, form := range everyForm[T](d) {
		b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, form))
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() { form.Forward(dst.ColRange(0, d), single, single, single) }), "%T %+v alone, %d processors", form, form, processors)
			for name, valid := range masks(rng, 169) {
				s.Valid = valid
				assert.Zero(t, allocs.Settled(processors, func() { b.ForwardSequences(dst, q, kv, kv, s) }), "%T %+v, %s, %d processors", form, form, name, processors)
			}
		}
	}
}

func TestBatchErrors(t *testing.T) {
	exact := performer.Attention[float32](must.Have(performer.NewExact[float32](performer.ExactOptions{})))
	for want, c := range map[string]struct {
		heads, keyHeads int
		forms           []performer.Attention[float32]
	}{
		"performer: Heads = 0, KeyHeads = 1, want at least 1 and Heads a multiple of KeyHeads":  {0, 1, []performer.Attention[float32]{exact}},
		"performer: Heads = 4, KeyHeads = -1, want at least 1 and Heads a multiple of KeyHeads": {4, -1, []performer.Attention[float32]{exact}},
		"performer: Heads = 4, KeyHeads = 3, want at least 1 and Heads a multiple of KeyHeads":  {4, 3, []performer.Attention[float32]{exact}},
		"performer: 0 attentions, want one, or one for each of 4 heads":                         {4, 2, nil},
		"performer: 2 attentions, want one, or one for each of 4 heads":                         {4, 2, []performer.Attention[float32]{exact, exact}},
		"performer: attention 1 is nil":                                                         {2, 2, []performer.Attention[float32]{exact, nil}},
	} {
		_, err := performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: c.keyHeads}, c.forms...)
		assert.EqualError(t, err, want)
	}
	b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, exact))
	reLUs := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, attention(reLU[float32](3), performer.LinearOptions{})))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	call := func(s performer.Sequences) func() {
		return func() { b.ForwardSequences(none, mat(5, 8), mat(7, 4), mat(7, 6), s) }
	}
	for want, f := range map[string]func(){
		"performer: q is 5×6, k is 7×4, v is 7×6, want columns of 4 heads of queries and 2 of keys and values": func() { b.ForwardSequences(none, mat(5, 6), mat(7, 4), mat(7, 6), performer.Sequences{}) },
		"performer: q is 5×8, k is 7×6, v is 7×6, want columns of 4 heads of queries and 2 of keys and values": func() { b.ForwardSequences(none, mat(5, 8), mat(7, 6), mat(7, 6), performer.Sequences{}) },
		"performer: q is 5×8, k is 7×4, v is 7×5, want columns of 4 heads of queries and 2 of keys and values": func() { b.ForwardSequences(none, mat(5, 8), mat(7, 4), mat(7, 5), performer.Sequences{}) },
		"performer: k is 7×4, v is 6×6, want as many values as keys":                                           func() { b.ForwardSequences(none, mat(5, 8), mat(7, 4), mat(6, 6), performer.Sequences{}) },
		"dense: destination is 5×8, want 5×12":                                                                 func() { b.ForwardSequences(mat(5, 8), mat(5, 8), mat(7, 4), mat(7, 6), performer.Sequences{}) },
		"performer: q is 5×8, k is 5×8: heads have dimension 4, but the attention takes points of R^3":         func() { reLUs.ForwardSequences(none, mat(5, 8), mat(5, 8), mat(5, 8), performer.Sequences{}) },
		"performer: dout is 5×4, q is 5×8, v is 7×6, want 5×12, a gradient for each output": func() {
			b.BackwardSequences(none, none, none, mat(5, 8), mat(7, 4), mat(7, 6), mat(5, 4), performer.Sequences{})
		},
		"performer: Sequences.Queries is nil, Keys has length 1, want both":                            call(performer.Sequences{Keys: []int{7}}),
		"performer: Sequences.Queries is [2 2], want a sum of 5":                                       call(performer.Sequences{Queries: []int{2, 2}, Keys: []int{3, 4}}),
		fmt.Sprintf("performer: Sequences.Queries is [%d %[1]d 7], want a sum of 5", math.MaxInt):      call(performer.Sequences{Queries: []int{math.MaxInt, math.MaxInt, 7}}),
		"performer: Sequences.Queries has -1 at 1, want no negative length":                            call(performer.Sequences{Queries: []int{2, -1}, Keys: []int{3, 4}}),
		"performer: Sequences.Queries, which are the lengths of the keys too, is [5], want a sum of 7": call(performer.Sequences{Queries: []int{5}}),
		"performer: Sequences.Keys is [8], want a sum of 7":                                            call(performer.Sequences{Queries: []int{5}, Keys: []int{8}}),
		"performer: Sequences.Keys has length 2, want one for each of 1 sequences":                     call(performer.Sequences{Queries: []int{5}, Keys: []int{3, 4}}),
		"performer: Sequences.Past has length 2, want one for each of 1 sequences":                     call(performer.Sequences{Past: []int{3, 4}}),
		"performer: Sequences.Valid has length 5, want one for each of 7 keys":                         call(performer.Sequences{Valid: make([]bool, 5)}),
	} {
		assert.PanicsWithValue(t, want, f)
	}
}
