package multipole

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
)

func head(l int, seed uint64) (q, k, v dense.Matrix[float32]) {
	rng := rand.New(rand.NewPCG(seed, 2))
	const d, vocab = 64, 2000
	emb := make([][]float64, vocab)
	for i := range emb {
		emb[i] = make([]float64, d)
		for j := range emb[i] {
			emb[i][j] = rng.NormFloat64()
		}
	}
	wq, wk := make([]float64, d*d), make([]float64, d*d)
	for i := range wq {
		wk[i] = rng.NormFloat64() / 8
		wq[i] = 0.6*wk[i] + 0.8*rng.NormFloat64()/8
	}
	zipf := rand.NewZipf(rng, 1.1, 3, vocab-1)
	q, k, v = dense.New[float32](l, d), dense.New[float32](l, d), dense.New[float32](l, d)
	ctx := make([]float64, d)
	x := make([]float64, d)
	for i := range l {
		e := emb[zipf.Uint64()]
		for j := range ctx {
			ctx[j] = 0.9*ctx[j] + 0.4*e[j]
			x[j] = 0.7*e[j] + 0.6*ctx[j] + 0.3*rng.NormFloat64()
		}
		for a := range d {
			var sq, sk float64
			for b := range d {
				sq += wq[a*d+b] * x[b]
				sk += wk[a*d+b] * x[b]
			}
			q.Row(i)[a], k.Row(i)[a], v.Row(i)[a] = float32(1.3*sq), float32(1.3*sk), float32(x[a])
		}
		p := float64(i % 1024)
		for a := range d / 2 {
			th := p * math.Pow(10000, -float64(a)/32)
			c, s := float32(math.Cos(th)), float32(math.Sin(th))
			for _, r := range [][]float32{q.Row(i), k.Row(i)} {
				r[a], r[a+32] = r[a]*c-r[a+32]*s, r[a+32]*c+r[a]*s
			}
		}
	}
	return
}

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e6
}

func rel(a, b dense.Matrix[float32]) float64 {
	var n, d float64
	for i := range a.Rows {
		for j, x := range b.Row(i) {
			e := float64(a.Row(i)[j] - x)
			n += e * e
			d += float64(x) * float64(x)
		}
	}
	return math.Sqrt(n / d)
}

func TestProto(t *testing.T) {
	l := 16384
	q, k, v := head(l, 1)
	if dir := os.Getenv("HEAD"); dir != "" {
		read := func(n string) dense.Matrix[float32] {
			e, sh, err := npy.ReadFile[float32](dir + n + ".npy")
			m := dense.Matrix[float32]{Rows: sh[0], Cols: sh[1], Data: e, Stride: sh[1]}
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		q, k, v = read("q"), read("k"), read("v")
		l = q.Rows
	}
	var nq, nk float64
	for i := range l {
		for j := range 64 {
			nq += float64(q.Row(i)[j] * q.Row(i)[j])
			nk += float64(k.Row(i)[j] * k.Row(i)[j])
		}
	}
	fmt.Printf("norms %.2f %.2f\n", math.Sqrt(nq/float64(l)), math.Sqrt(nk/float64(l)))
	te := math.Inf(1)
	var truth dense.Matrix[float32]
	for range 2 {
		t0 := cpu()
		truth = performer.Exact[float32]{}.Forward(dense.Matrix[float32]{}, q, k, v)
		te = min(te, cpu()-t0)
	}
	for _, c := range []int{256, 512} {
		for _, th := range []float64{1e-2, 3e-3} {
			f, err := New(performer.Exact[float32]{}, Options{Clusters: c, Threshold: th}, rand.NewPCG(1, 2))
			if err != nil {
				t.Fatal(err)
			}
			var out dense.Matrix[float32]
			tot := math.Inf(1)
			for range 3 {
				s := cpu()
				out = f.Forward(out, q, k, v)
				tot = min(tot, cpu()-s)
			}
			fmt.Printf("C %d τ %.0e: error %.4f time %.1f (exact %.0f, %.1fx)\n", c, th, rel(out, truth), tot, te, te/tot)
		}
	}
}

func TestProtoCausal(t *testing.T) {
	l := 16384
	q, k, v := head(l, 1)
	te := math.Inf(1)
	var truth dense.Matrix[float32]
	exact := performer.Exact[float32]{Causal: true}
	for range 2 {
		t0 := cpu()
		truth = exact.Forward(dense.Matrix[float32]{}, q, k, v)
		te = min(te, cpu()-t0)
	}
	for _, th := range []float64{1e-2, 5e-3, 3e-3, 2e-3, 1e-3, 1e-9} {
		f, err := New(exact, Options{Threshold: th}, rand.NewPCG(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		var out dense.Matrix[float32]
		tot := math.Inf(1)
		for range 2 {
			s := cpu()
			out = f.Forward(out, q, k, v)
			tot = min(tot, cpu()-s)
		}
		fmt.Printf("causal τ %.0e: error %.4f time %.1f (exact %.0f, %.1fx)\n", th, rel(out, truth), tot, te, te/tot)
	}
}
