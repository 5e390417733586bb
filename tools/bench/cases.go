package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/semiseparable"
)

// family is a computation of any sizes. single and double prepare the computation in float32 and
// float64, and return the call to time.
type family struct {
	sizes          string // sizes of a name; m=256 is a size with a default
	words          string // other parameters
	calls          string // possible last parts of a name, after the type; "" for none
	causal         bool
	single, double func(p parameters) (func(), error)
}

// attentionSizes are the sizes of all kinds of attention. Attention without features ignores m.
const attentionSizes = "heads L d=64 m=256"

// families holds the computations by the first part of their names.
var families = map[string]family{
	"product":      {sizes: "m n k", single: product[float32], double: product[float64]},
	"exp":          {sizes: "n", single: exp[float32], double: exp[float64]},
	"cos":          {sizes: "n", single: cos[float32], double: cos[float64]},
	"fwht":         {sizes: "n", single: fwht[float32], double: fwht[float64]},
	"exact":        {sizes: attentionSizes, single: exact[float32], double: exact[float64]},
	"exact-causal": {sizes: attentionSizes, causal: true, single: exact[float32], double: exact[float64]},
	"favor":        {sizes: attentionSizes, single: favor[float32], double: favor[float64]},
	"favor-causal": {sizes: attentionSizes, causal: true, single: favor[float32], double: favor[float64]},
	"elu":          {sizes: attentionSizes, single: elu[float32], double: elu[float64]},
	"recurrence":   {sizes: "heads L d=64", words: "rule decay", single: recur[float32], double: recur[float64]},
	"rbf":          {sizes: "n d m", single: rbf[float32], double: rbf[float64]},
	"nystroem":     {sizes: "n d m", single: nystroem[float32], double: nystroem[float64]},
	"gram":         {sizes: "n d", single: gram[float32], double: gram[float64]},
	"inverse":      {sizes: "n d", single: inverse[float32], double: inverse[float64]},
	"solve":        {sizes: "n d", single: solve[float32], double: solve[float64]},
	"rff-ridge":    {sizes: "n d D", calls: "fit predict", single: rffRidge[float32], double: rffRidge[float64]},
}

// parameters are the parts of a name after the computation.
type parameters struct {
	size   map[string]int
	word   map[string]string
	call   string
	causal bool
}

// setUp returns the call to time for a name.
func setUp(name string) (func(), error) {
	first, rest, _ := strings.Cut(name, "/")
	f, ok := families[first]
	if !ok {
		return nil, fmt.Errorf("no case %q, want one of %s", first, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	call := ""
	if f.calls != "" {
		end := strings.LastIndex(rest, "/") + 1
		rest, call = strings.TrimSuffix(rest[:end], "/"), rest[end:]
		if !slices.Contains(strings.Fields(f.calls), call) {
			return nil, fmt.Errorf("%q at the end, want one of %v", call, strings.Fields(f.calls))
		}
	}
	rest, double := strings.CutSuffix(rest, "/float64")
	if !double {
		rest = strings.TrimSuffix(rest, "/float32")
	}
	p, err := f.parse(rest)
	p.call = call
	switch {
	case err != nil:
		return nil, err
	case double:
		return f.double(p)
	}
	return f.single(p)
}

// parse reads the parts key=value of a name.
func (f family) parse(parts string) (parameters, error) {
	p := parameters{size: make(map[string]int), word: make(map[string]string), causal: f.causal}
	sizes := make(map[string]int) // 0 for a size that must be given
	for s := range strings.FieldsSeq(f.sizes) {
		key, value, _ := strings.Cut(s, "=")
		sizes[key], _ = strconv.Atoi(value)
	}
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(parts, "/") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return p, fmt.Errorf("%q, want key=value", part)
		}
		if key == "h" {
			key = "heads"
		}
		if seen[key] {
			return p, fmt.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if _, ok := sizes[key]; ok {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return p, fmt.Errorf("%s = %q, want a whole number from 1 on", key, value)
			}
			p.size[key] = n
		} else if slices.Contains(strings.Fields(f.words), key) {
			p.word[key] = value
		} else {
			return p, fmt.Errorf("no parameter %q", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sizes)) {
		if !seen[key] && sizes[key] == 0 {
			return p, fmt.Errorf("no size %s", key)
		} else if !seen[key] {
			p.size[key] = sizes[key]
		}
	}
	return p, nil
}

// generator returns a generator of random numbers, the same for every call.
func generator() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// normal returns an r×c matrix of normal numbers with standard deviation sd.
func normal[T dense.Float](rng *rand.Rand, r, c int, sd float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(sd * rng.NormFloat64())
	}
	return m
}

// uniform returns an r×c matrix of numbers between low and high.
func uniform[T dense.Float](rng *rand.Rand, r, c int, low, high float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(low + (high-low)*rng.Float64())
	}
	return m
}

// product is the product of an m×k and a k×n matrix.
func product[T dense.Float](p parameters) (func(), error) {
	rng := generator()
	m, n, k := p.size["m"], p.size["n"], p.size["k"]
	a, b, c := normal[T](rng, m, k, 1), normal[T](rng, k, n, 1), dense.New[T](m, n)
	return func() { matmul.Mul(1, a, b, 0, c) }, nil
}

// exp is the exponential of n numbers, on one processor.
func exp[T dense.Float](p parameters) (func(), error) {
	return elementary(p, vecmath.Exp[T])
}

// cos is the cosine of n numbers, on one processor.
func cos[T dense.Float](p parameters) (func(), error) {
	return elementary(p, vecmath.Cos[T])
}

// elementary is a function of n normal numbers, element by element.
func elementary[T dense.Float](p parameters, f func(dst, x []T)) (func(), error) {
	x := normal[T](generator(), 1, p.size["n"], 1)
	y := dense.New[T](1, p.size["n"])
	return func() { f(y.Data, x.Data) }, nil
}

// fwht is the Walsh–Hadamard transform of n numbers, in place.
func fwht[T dense.Float](p parameters) (func(), error) {
	const most = 1 << 30 // NextOrder accepts such orders on every machine
	n := p.size["n"]
	if n > most || hadamard.NextOrder(n) != n {
		return nil, fmt.Errorf("n = %d, want an order of Hadamard matrices up to %d", n, most)
	}
	x := dense.New[T](1, n) // zeros: other numbers would grow by √n with each call
	return func() { hadamard.Transform(x.Data) }, nil
}

// attend is attention of L normal tokens in each head. A head is a block of columns.
func attend[T dense.Float](p parameters, form performer.Attention[T]) (func(), error) {
	rng := generator()
	heads, tokens, d := p.size["heads"], p.size["L"], p.size["d"]
	if heads > 1 {
		batch, err := performer.NewBatch(heads, heads, form)
		if err != nil {
			return nil, err
		}
		form = batch
	}
	q, k, v := normal[T](rng, tokens, heads*d, 0.5), normal[T](rng, tokens, heads*d, 0.5), normal[T](rng, tokens, heads*d, 0.5)
	out := dense.New[T](tokens, heads*d)
	return func() { form.Forward(out, q, k, v) }, nil
}

// exact is exact softmax attention.
func exact[T dense.Float](p parameters) (func(), error) {
	e, err := performer.NewExact[T](performer.ExactOptions{Causal: p.causal})
	if err != nil {
		return nil, err
	}
	return attend[T](p, e)
}

// favor is linear attention with m positive features.
func favor[T dense.Float](p parameters) (func(), error) {
	d := p.size["d"]
	w, err := orf.Draw[T](orf.GramSchmidt{}, p.size["m"], d, generator())
	if err != nil {
		return nil, err
	}
	phi, err := rff.SoftmaxPositive(w, 1/math.Sqrt(float64(d)))
	if err != nil {
		return nil, err
	}
	return linear[T](p, phi)
}

// elu is linear attention with the features elu + 1.
func elu[T dense.Float](p parameters) (func(), error) {
	phi, err := rff.ELU[T](p.size["d"])
	if err != nil {
		return nil, err
	}
	return linear[T](p, phi)
}

// linear is linear attention with any features.
func linear[T dense.Float](p parameters, phi rff.Map[T]) (func(), error) {
	form, err := performer.NewLinear(phi, performer.LinearOptions{Causal: p.causal})
	if err != nil {
		return nil, err
	}
	return attend[T](p, form)
}

// recur is a recurrence from one state to another, with one decay per head, or one decay per row of
// the state if decay=rows.
func recur[T dense.Float](p parameters) (func(), error) {
	rules := []recurrence.Rule{recurrence.Linear, recurrence.Gated, recurrence.Delta, recurrence.GatedDelta}
	i := slices.IndexFunc(rules, func(r recurrence.Rule) bool { return r.String() == p.word["rule"] })
	if i < 0 {
		return nil, fmt.Errorf("rule = %q, want one of %v", p.word["rule"], rules)
	}
	rule, rng := rules[i], generator()
	decays := rule == recurrence.Gated || rule == recurrence.GatedDelta
	heads, tokens, d := p.size["heads"], p.size["L"], p.size["d"]
	width := heads
	switch decay, ok := p.word["decay"]; {
	case ok && decay != "rows":
		return nil, fmt.Errorf("decay = %q, want rows", decay)
	case ok && !decays:
		return nil, fmt.Errorf("decay = rows, but rule = %v has no decay", rule)
	case ok:
		width = heads * d
	}
	r, err := recurrence.New[T](heads, heads, recurrence.Options{Rule: rule})
	if err != nil {
		return nil, err
	}
	x := recurrence.Tokens[T]{
		Q: uniform[T](rng, tokens, heads*d, -0.2, 0.2),
		K: uniform[T](rng, tokens, heads*d, -0.2, 0.2),
		V: uniform[T](rng, tokens, heads*d, -0.2, 0.2),
	}
	if decays {
		x.Decay = uniform[T](rng, tokens, width, -0.01, 0)
	}
	if rule == recurrence.Delta || rule == recurrence.GatedDelta {
		x.Beta = uniform[T](rng, tokens, heads, 0, 1)
	}
	past, present := uniform[T](rng, heads*d, d, -0.2, 0.2), dense.New[T](heads*d, d)
	out := dense.New[T](tokens, heads*d)
	return func() { r.Forward(out, x, past, present) }, nil
}

// rbf is m features of the Gaussian kernel, of n points.
func rbf[T dense.Float](p parameters) (func(), error) {
	n, d, m := p.size["n"], p.size["d"], p.size["m"]
	if m%2 != 0 {
		return nil, fmt.Errorf("m = %d, want an even number: a frequency has two features", m)
	}
	w, err := orf.Draw[T](orf.IID{}, m/2, d, generator())
	if err != nil {
		return nil, err
	}
	phi, err := rff.Gaussian(w, math.Sqrt(float64(d)))
	if err != nil {
		return nil, err
	}
	return transform(phi, normal[T](generator(), n, d, 1)), nil
}

// rffRidge is ridge regression on D features of the Gaussian kernel with length-scale 1, or its
// means at 5000 points. The data are n points in R^d with Friedman's function of the first five
// coordinates, with noise of variance 1; the weights have the variance 10. The model of the means
// is fitted to at most 5000 points, because the time of means does not depend on n.
func rffRidge[T dense.Float](p parameters) (func(), error) {
	n, d, width := p.size["n"], p.size["d"], p.size["D"]
	if width%2 != 0 {
		return nil, fmt.Errorf("size D = %d, want an even number: a frequency has two features", width)
	}
	if d < 5 {
		return nil, fmt.Errorf("d = %d, want at least the 5 of Friedman's function", d)
	}
	const tests = 5000
	if p.call == "predict" {
		n = tests
	}
	rng := generator()
	w, err := orf.Draw[T](orf.GramSchmidt{}, width/2, d, rng)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Gaussian(w, 1)
	if err != nil {
		return nil, err
	}
	x, y := uniform[T](rng, n, d, 0, 1), dense.New[T](n, 1)
	for i := range n {
		row := x.Row(i)
		a, b, c := float64(row[0]), float64(row[1]), float64(row[2])-0.5
		y.Set(i, 0, T(10*math.Sin(math.Pi*a*b)+20*c*c+rng.NormFloat64())+10*row[3]+5*row[4])
	}
	o := ridge.Options{Noise: 1, Prior: 10}
	m, err := ridge.Fit(context.Background(), phi, x.RowRange(0, min(n, tests)), y.RowRange(0, min(n, tests)), o)
	if err != nil {
		return nil, err
	}
	if p.call == "predict" {
		mean := dense.New[T](n, 1)
		return func() { m.Mean(mean, x) }, nil
	}
	return func() { _, _ = ridge.Fit(context.Background(), phi, x, y, o) }, nil // the first Fit had no error
}

// nystroem is the features of n points by m landmarks among them.
func nystroem[T dense.Float](p parameters) (func(), error) {
	n, d, m := p.size["n"], p.size["d"], p.size["m"]
	if m > n {
		return nil, fmt.Errorf("m = %d, want at most n = %d landmarks", m, n)
	}
	x := normal[T](generator(), n, d, 1)
	phi, err := rff.Nystroem(kernels.Gaussian{LengthScale: math.Sqrt(float64(d))}, x.RowRange(0, m))
	if err != nil {
		return nil, err
	}
	return transform(phi, x), nil
}

// transform computes the features of points.
func transform[T dense.Float](phi rff.Map[T], x dense.Matrix[T]) func() {
	_, m := phi.Dims()
	y := dense.New[T](x.Rows, m)
	return func() { phi.Transform(y, x) }
}

// gram is the Gram matrix of the Gaussian kernel, of n points.
func gram[T dense.Float](p parameters) (func(), error) {
	n, d := p.size["n"], p.size["d"]
	k, x, g := kernels.Gaussian{LengthScale: math.Sqrt(float64(d))}, normal[T](generator(), n, d, 1), dense.New[T](n, n)
	return func() { kernels.Gram(g, k, x, dense.Matrix[T]{}) }, nil
}

// deltaRule returns I + tril(QKᵀ, −1) with unit keys k and q = βk, β in (0, 1). With independent q
// and k, solutions of systems would grow exponentially with n.
func deltaRule[T dense.Float](rng *rand.Rand, n, d int) semiseparable.Matrix[T] {
	q, k := dense.New[T](n, d), normal[T](rng, n, d, 1)
	for i := range n {
		norm := 0.0
		for _, x := range k.Row(i) {
			norm += float64(x) * float64(x)
		}
		beta := rng.Float64()
		for j, x := range k.Row(i) {
			unit := float64(x) / math.Sqrt(norm)
			k.Set(i, j, T(unit))
			q.Set(i, j, T(beta*unit))
		}
	}
	return semiseparable.Matrix[T]{Q: q, K: k}
}

// inverse computes the inverse of the n×n matrix of deltaRule.
func inverse[T dense.Float](p parameters) (func(), error) {
	n := p.size["n"]
	t, y := deltaRule[T](generator(), n, p.size["d"]), dense.New[T](n, n)
	_, err := t.Inverse(y)
	return func() { _, _ = t.Inverse(y) }, err
}

// solve solves a system with that matrix for d right-hand sides.
func solve[T dense.Float](p parameters) (func(), error) {
	n, d := p.size["n"], p.size["d"]
	rng := generator()
	t, v, y := deltaRule[T](rng, n, d), normal[T](rng, n, d, 1), dense.New[T](n, d)
	_, err := t.Solve(y, v)
	return func() { _, _ = t.Solve(y, v) }, err
}
