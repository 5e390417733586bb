package quantise_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// vectorSet has the codes of the vectors of one partition, as bytes that the store of a tree keeps.
type vectorSet []byte

// quantiseSet returns the set with more vectors.
func quantiseSet(q quantise.Quantiser[float32], s vectorSet, vectors dense.Matrix[float32]) (vectorSet, error) {
	n := len(s)
	s = append(s, make(vectorSet, vectors.Rows*q.RowBytes())...)
	return s, q.EncodeBytes(s[n:], vectors)
}

// estimateDistances writes the estimated distances of a query from the vectors of a set. An error
// exceeds its bound with a probability of at most twice the miss probability of the query.
func estimateDistances(q quantise.Quantiser[float32], s vectorSet, query *quantise.Query, distances, errorBounds []float32) error {
	estimates := make([]quantise.Estimate, len(distances))
	err := q.EstimateBytes(estimates, query, s)
	for i, e := range estimates {
		distances[i], errorBounds[i] = float32(e.Value), float32(max(e.High-e.Value, e.Value-e.Low))
	}
	return err
}

// A tree keeps the vectors of each partition as bytes. A search estimates the distances of a
// partition with bounds of their errors, and reads the vectors that may be the nearest.
func ExampleQuantiser_EstimateBytes() {
	const n, d, miss = 64, 768, 0.001
	rng := rand.New(rand.NewPCG(1, 1))
	vectors, query := dense.New[float32](n, d), make([]float32, d)
	for i := range vectors.Data {
		vectors.Data[i] = float32(rng.NormFloat64())
	}
	for j := range query { // between vectors 5 and 17, nearer to 17
		query[j] = 0.48*vectors.At(5, j) + 0.52*vectors.At(17, j)
	}
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 1}, rng)
	partition, _ := quantiseSet(q, nil, vectors.RowRange(0, 40))
	partition, _ = quantiseSet(q, partition, vectors.RowRange(40, n))
	distances, errorBounds := make([]float32, n), make([]float32, n)
	prepared := q.Prepare(nil, query, quantise.SquaredDistance, miss)
	if err := estimateDistances(q, partition, prepared, distances, errorBounds); err != nil {
		panic(err)
	}
	limit := distances[0] + errorBounds[0]
	for i, v := range distances {
		limit = min(limit, v+errorBounds[i])
	}
	fmt.Println(len(partition), "bytes")
	for i, v := range distances {
		if v-errorBounds[i] <= limit {
			fmt.Printf("vector %d: %.0f ± %.0f\n", i, v, errorBounds[i])
		}
	}
	// Output:
	// 6656 bytes
	// vector 5: 389 ± 70
	// vector 17: 348 ± 67
}
