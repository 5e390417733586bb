package beamfeat_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	exprand "golang.org/x/exp/rand"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// A regression on blocks of rows of a sine, on the runner prism in this process. A program calls
// beam.Init first, and reads blocks with ReadNPY or ReadCSV.
func ExampleFitRidge() {
	rng := exprand.New(exprand.NewSource(1))
	var blocks []ridge.Block[float64]
	for range 20 {
		b := ridge.Block[float64]{X: dense.New[float64](50, 1), Y: dense.New[float64](50, 1)}
		for i := range b.X.Data {
			b.X.Data[i] = 6 * rng.Float64()
			b.Y.Data[i] = math.Sin(b.X.Data[i]) + 0.1*rng.NormFloat64()
		}
		blocks = append(blocks, b)
	}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 32, 1, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "beamfeat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")

	p, s := beam.NewPipelineWithRoot()
	model := beamfeat.FitRidge(s, beam.CreateList(s, blocks), beamfeat.Ridge[float64]{Map: phi, Outputs: 1})
	beamfeat.WriteModel[float64](s, path, model)
	if _, err := beam.Run(context.Background(), "prism", p); err != nil {
		log.Fatal(err)
	}

	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	m, err := ridge.ReadModel[float64](file)
	if err != nil {
		log.Fatal(err)
	}
	mean, sd := m.Predict(dense.Of(1, 1, []float64{1}))
	fmt.Printf("sin 1 = %.2f ± %.2f (%.2f)\n", mean.At(0, 0), sd.At(0, 0), math.Sin(1))
	// Output: sin 1 = 0.85 ± 0.10 (0.84)
}
