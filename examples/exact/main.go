// Exact compares kernel ridge regression on all rows with landmarks and random features.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

const nu = 2.5 // of the Matérn kernel

func main() {
	folder := flag.String("data", "", "`folder` of x.npy and y.npy to learn from, and u.npy to predict, which tables.py has written")
	method := flag.String("method", "choose", "choose, which scales the columns in the files and writes the penalty, or exact, landmarks or features")
	size := flag.Int("size", 1000, "`number` of landmarks or features, or of landmarks of the preconditioner")
	flag.Parse()

	ctx, src := context.Background(), rand.NewPCG(1, 2)
	in := func(name string) string { return filepath.Join(*folder, name) }
	rows, u := ridge.Block[float32]{X: read(in("x.npy")), Y: read(in("y.npy"))}, read(in("u.npy"))
	if *method == "choose" {
		ratio := choose(ctx, rows, u, src)
		for name, x := range map[string]dense.Matrix[float32]{"x.npy": rows.X, "u.npy": u} {
			must(0, npy.WriteFile(in(name), x.Data, x.Rows, x.Cols))
		}
		must(0, os.WriteFile(in("ratio.json"), must(json.Marshal(ratio)), 0o666))
		return
	}
	var ratio float64
	must(0, json.Unmarshal(must(os.ReadFile(in("ratio.json"))), &ratio))
	f := fit(ctx, *method, *size, rows, ratio, src).Mean(dense.Matrix[float32]{}, u)
	must(0, npy.WriteFile(in("f.npy"), f.Data, f.Rows, f.Cols))
}

// choose returns λ, and divides the columns of x and u by length-scales of least errors at rows
// left out.
func choose(ctx context.Context, rows ridge.Block[float32], u dense.Matrix[float32], src rand.Source) float64 {
	length := math.Sqrt(float64(u.Cols))
	candidates := []kernels.Kernel{kernels.Matern{Nu: nu, LengthScale: length}, kernels.Matern{Nu: nu, LengthScale: 2 * length}}
	k := candidates[must(kernelridge.Choose(ctx, candidates, rows, src)).Kernel].(kernels.Matern)
	own, choice, err := kernelridge.Scales(ctx, k, rows, src)
	must(0, err)
	for _, x := range []dense.Matrix[float32]{rows.X, u} {
		for i := range x.Rows {
			for j := range x.Cols {
				x.Row(i)[j] *= float32(own.A.At(j, j) / k.LengthScale)
			}
		}
	}
	fmt.Printf("λ = %.3g leaves %.4g of the variance, and %.4g with the first length-scale and λ\n", choice.Ratio, choice.Score, choice.Start)
	return choice.Ratio
}

func fit(ctx context.Context, method string, size int, rows ridge.Block[float32], ratio float64, src rand.Source) *ridge.Model[float32] {
	k, phi := kernels.Matern{Nu: nu}, rff.Map[float32](nil)
	switch method {
	case "exact":
		return must(kernelridge.Fit(ctx, k, rows, kernelridge.Options{Ratio: ratio, Rank: size, Memory: 1 << 30, Src: src})).Model
	case "landmarks":
		some := must(landmarks.Uniform(rows.X, min(rows.X.Rows, 8*size), src))
		phi = must(rff.Nystroem(k, must(landmarks.Pivoted(ctx, k, some, size, src))))
	case "features":
		phi = must(rff.Random[float32](k, size, rows.X.Cols, src))
	}
	return must(ridge.Fit(ctx, phi, rows, ridge.Options{Ratio: ratio}))
}

func read(path string) dense.Matrix[float32] {
	elements, shape, err := npy.ReadFile[float32](path)
	must(0, err)
	return dense.Of(shape[0], shape[1], elements)
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
