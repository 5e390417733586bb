package beamfeat

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	register.Combiner1[ridge.Block[float32]](&landmarksFn[float32]{})
	register.Combiner1[ridge.Block[float64]](&landmarksFn[float64]{})
}

// UniformLandmarks draws n different points of blocks, a PCollection of ridge.Block[T]: the n
// points with the least SHA-256 hash of seed and point. For a random seed, all sets of n different
// points are equally likely; a repeated point counts once. UniformLandmarks returns a Beam
// PCollection of one ridge.Block, whose matrix X has the n drawn points as rows, or all different
// points if there are fewer than n. The drawn points serve as landmarks for rff.Nystroem.
// UniformLandmarks reduces each Beam bundle to at most n points.
//
// A pipeline with UniformLandmarks fails if blocks have points of different dimension.
// UniformLandmarks panics for n < 1.
func UniformLandmarks[T dense.Float](s beam.Scope, blocks beam.PCollection, n int, seed uint64) beam.PCollection {
	if n < 1 {
		panic(fmt.Sprintf("beamfeat: n = %d, want at least 1", n))
	}
	return beam.Combine(s.Scope("beamfeat.UniformLandmarks"), &landmarksFn[T]{N: n, Seed: seed}, blocks)
}

// landmarksFn is the CombineFn of UniformLandmarks. Accumulators are blocks of at most N points.
type landmarksFn[T dense.Float] struct {
	N    int
	Seed uint64
}

func (f *landmarksFn[T]) CreateAccumulator() ridge.Block[T] { return ridge.Block[T]{} }

func (f *landmarksFn[T]) AddInput(a, b ridge.Block[T]) (ridge.Block[T], error) {
	return f.MergeAccumulators(a, b)
}

type hashedRow[T dense.Float] struct {
	hash [sha256.Size]byte
	x    []T
}

func (f *landmarksFn[T]) MergeAccumulators(a, b ridge.Block[T]) (ridge.Block[T], error) {
	if a.X.Rows == 0 {
		a.X = dense.New[T](0, b.X.Cols)
	}
	if b.X.Rows > 0 && b.X.Cols != a.X.Cols {
		return a, fmt.Errorf("beamfeat: points with %d coordinates and points with %d", a.X.Cols, b.X.Cols)
	}
	all := make([]hashedRow[T], 0, a.X.Rows+b.X.Rows)
	var buffer []byte
	for _, x := range [...]dense.Matrix[T]{a.X, b.X} {
		for i := range x.Rows {
			buffer, _ = binary.Append(binary.LittleEndian.AppendUint64(buffer[:0], f.Seed), binary.LittleEndian, x.Row(i))
			all = append(all, hashedRow[T]{sha256.Sum256(buffer), x.Row(i)})
		}
	}
	slices.SortFunc(all, func(p, q hashedRow[T]) int { return bytes.Compare(p.hash[:], q.hash[:]) })
	all = slices.CompactFunc(all, func(p, q hashedRow[T]) bool { return p.hash == q.hash })
	chosen := dense.New[T](min(f.N, len(all)), a.X.Cols)
	for i := range chosen.Rows {
		copy(chosen.Row(i), all[i].x)
	}
	return ridge.Block[T]{X: chosen, Y: dense.New[T](chosen.Rows, 0)}, nil
}

func (f *landmarksFn[T]) ExtractOutput(a ridge.Block[T]) ridge.Block[T] { return a }
