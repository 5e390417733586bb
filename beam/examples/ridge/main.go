// Command ridge fits a regression to shards of rows by a pipeline of Apache Beam.
//
//	go run ./examples/ridge
//	go run ./examples/ridge -rows 1000000 -shards 100
//	go run ./examples/ridge -dir /shared -runner universal -endpoint jobs.example:8099
//
// By default the pipeline runs in the process, on Beam's runner prism; workers on other machines
// must see the folder of the shards at the same path.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	exprand "golang.org/x/exp/rand"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

const (
	dimension   = 10 // of points
	lengthScale = 1
	testRows    = 5000
	mostRows    = 10_000_000
)

func main() {
	var o options
	flag.IntVar(&o.rows, "rows", 100_000, "rows in all")
	flag.IntVar(&o.shards, "shards", 20, "files of rows, at most 1000")
	flag.IntVar(&o.features, "features", 512, "random features, from 2 to 8192")
	flag.StringVar(&o.dir, "dir", "", "folder of the shards and of the model; a temporary one if empty")
	verbose := flag.Bool("verbose", false, "print what the runner logs")
	flag.Parse()
	if flag.NArg() > 0 {
		end(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	beam.Init()
	if !*verbose {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	o.runner = cmp.Or(*runners.Runner, "prism")
	if err := run(context.Background(), o, os.Stdout); err != nil {
		end(err)
	}
}

// end does not use package log, because main discards the logs.
func end(err error) {
	fmt.Fprintf(os.Stderr, "ridge: %v\n", err)
	os.Exit(1)
}

type options struct {
	rows, shards, features int
	dir, runner            string
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	// makeShards holds a shard in memory, 100 bytes a row.
	if o.shards < 1 || o.shards > 1000 || o.rows < o.shards || o.rows/o.shards > mostRows || o.features < 2 || o.features > 8192 {
		return fmt.Errorf("-rows %d -shards %d -features %d: want from 1 to %d rows a shard, at most 1000 shards, and from 2 to 8192 features",
			o.rows, o.shards, o.features, mostRows)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "randfeat"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	} else if info, err := os.Stat(o.dir); err != nil {
		return fmt.Errorf("-dir: %w, want a folder that is there", err)
	} else if !info.IsDir() {
		return fmt.Errorf("-dir: %s is no folder, want a folder that is there", o.dir)
	}
	shards, err := makeShards(o)
	if err != nil {
		return err
	}
	w, err := orf.Draw[float32](orf.Hadamard{}, o.features/2, dimension, exprand.NewSource(1))
	if err != nil {
		return err
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w)
	if err != nil {
		return err
	}

	start := time.Now()
	local, err := onOneMachine(ctx, phi, shards)
	if err != nil {
		return err
	}
	localTime := time.Since(start)

	start = time.Now()
	path := filepath.Join(o.dir, "model.safetensors")
	if err := byPipeline(ctx, o.runner, phi, shards, path); err != nil {
		return err
	}
	pipelineTime := time.Since(start)
	distributed, size, err := readModel(path)
	if err != nil {
		return err
	}

	x, y := friedman(testRows, exprand.NewSource(2))
	test := ridge.Block[float32]{X: narrow(x), Y: narrow(y)}
	fmt.Fprintf(out, "%d rows in %d shards, %d features\n\n", o.rows, o.shards, o.features)
	fmt.Fprintf(out, "%-22s %14s %14s\n", "", "one machine", o.runner)
	fmt.Fprintf(out, "%-22s %14.3f %14.3f\n", "log evidence", local.LogEvidence(), distributed.LogEvidence())
	fmt.Fprintf(out, "%-22s %14.6f %14.6f\n", "variance of the noise", local.Noise()[0], distributed.Noise()[0])
	fmt.Fprintf(out, "%-22s %14.6f %14.6f\n", "variance of weights", local.Prior()[0], distributed.Prior()[0])
	fmt.Fprintf(out, "%-22s %14.6f %14.6f\n", "error, 5000 new rows", rmse(local, test), rmse(distributed, test))
	fmt.Fprintf(out, "%-22s %13.2fs %13.2fs\n\n", "time", localTime.Seconds(), pipelineTime.Seconds())
	fmt.Fprintf(out, "model.safetensors: %.1f MB\n", float64(size)/1e6)
	return nil
}

func onOneMachine(ctx context.Context, phi rff.Map[float32], shards []ridge.NPY[float32]) (*ridge.Model[float32], error) {
	sums, err := ridge.NewSums(phi, 1)
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		part, err := ridge.Sum(ctx, phi, shard)
		if err != nil {
			return nil, err
		}
		if err := sums.Merge(part); err != nil {
			return nil, err
		}
	}
	return sums.Fit(ctx, ridge.Options{})
}

func byPipeline(ctx context.Context, runner string, phi rff.Map[float32], shards []ridge.NPY[float32], path string) error {
	p, s := beam.NewPipelineWithRoot()
	blocks := beamfeat.ReadNPY(s, shards...)
	model := beamfeat.FitRidge(s, blocks, beamfeat.Ridge[float32]{Map: phi})
	beamfeat.WriteModel[float32](s, path, model)
	_, err := beam.Run(ctx, runner, p)
	return err
}

func readModel(path string) (*ridge.Model[float32], int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	m, err := ridge.ReadModel[float32](bytes.NewReader(data))
	return m, len(data), err
}

func rmse(m *ridge.Model[float32], test ridge.Block[float32]) float64 {
	var sum float64
	mean := m.Mean(dense.Matrix[float32]{}, test.X)
	for i := range mean.Rows {
		r := float64(mean.At(i, 0) - test.Y.At(i, 0))
		sum += r * r
	}
	return math.Sqrt(sum / float64(mean.Rows))
}

func makeShards(o options) ([]ridge.NPY[float32], error) {
	shards := make([]ridge.NPY[float32], o.shards)
	for i := range shards {
		name := filepath.Join(o.dir, fmt.Sprintf("%d-%03d-of-%d", o.rows, i, o.shards))
		shards[i] = ridge.NPY[float32]{X: name + ".x.npy", Y: name + ".y.npy"}
		if _, err := os.Stat(shards[i].Y); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		x, y := friedman((i+1)*o.rows/o.shards-i*o.rows/o.shards, exprand.NewSource(uint64(100+i)))
		if err := errors.Join(npy.WriteFile(shards[i].X, x.Data, x.Rows, x.Cols), npy.WriteFile(shards[i].Y, y.Data, y.Rows, y.Cols)); err != nil {
			return nil, err
		}
	}
	return shards, nil
}

// friedman draws points, and noisy values of Friedman's function of the first five coordinates.
func friedman(n int, src exprand.Source) (x, y dense.Matrix[float64]) {
	r := exprand.New(src)
	x, y = dense.New[float64](n, dimension), dense.New[float64](n, 1)
	for i := range n {
		p := x.Row(i)
		for j := range p {
			p[j] = r.Float64()
		}
		f := 10*math.Sin(math.Pi*p[0]*p[1]) + 20*(p[2]-0.5)*(p[2]-0.5) + 10*p[3] + 5*p[4]
		y.Set(i, 0, f+r.NormFloat64())
	}
	return x, y
}

func narrow(m dense.Matrix[float64]) dense.Matrix[float32] {
	return dense.Copy(dense.Matrix[float32]{}, m)
}
