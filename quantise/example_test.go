package quantise_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/quantise"
)

// The rows nearest to a query are found from codes of an eighth of their size.
func Example() {
	const n, d = 1000, 256
	rng := rand.New(rand.NewPCG(1, 1))
	rows, query := dense.New[float32](n, d), make([]float32, d)
	for i := range rows.Data {
		rows.Data[i] = float32(rng.NormFloat64())
	}
	for j := range query { // near to row 123
		query[j] = rows.At(123, j) + float32(rng.NormFloat64())
	}
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 4}, rng)
	codes, _ := q.Encode(context.Background(), rows)
	for _, hit := range codes.Search(make([]quantise.Hit, 3), q.Prepare(nil, query, quantise.Cosine, 0)) {
		fmt.Printf("row %d: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
	}
	fmt.Printf("%d bytes for %d\n", codes.Bytes(), 4*n*d)
	// Output:
	// row 123: 0.647 ± 0.005
	// row 228: 0.175 ± 0.007
	// row 721: 0.174 ± 0.006
	// 140000 bytes for 1024000
}

// Two bits find the exact neighbours, if the rows themselves can be read: few of them.
func ExampleCodes_SearchAll() {
	const n, d = 20_000, 256
	rng := rand.New(rand.NewPCG(1, 1))
	rows, queries := dense.New[float32](n, d), dense.New[float32](2, d)
	for i := range rows.Data {
		rows.Data[i] = float32(rng.NormFloat64())
	}
	for i := range queries.Data { // near to rows 0 and 1
		queries.Data[i] = rows.Data[i] + float32(rng.NormFloat64())
	}
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 2}, rng)
	codes, _ := q.Encode(context.Background(), rows)

	deleted := []uint64{1 << 1} // row 1
	read, looked := quantise.RowsOf(rows), 0
	hits := [][]quantise.Hit{make([]quantise.Hit, 2), make([]quantise.Hit, 2)}
	prepared := []*quantise.Query{q.Prepare(nil, queries.Row(0), quantise.Cosine, 0), q.Prepare(nil, queries.Row(1), quantise.Cosine, 0)}
	err := codes.SearchAll(context.Background(), hits, prepared, quantise.SearchOptions[float32]{
		Except: deleted,
		Rows: func(dst dense.Matrix[float32], ids []int) error { // from memory, or from a disk
			looked += len(ids)
			return read(dst, ids)
		},
	})
	for i, list := range hits {
		for _, hit := range list {
			fmt.Printf("query %d: row %d, cosine %.4f\n", i, hit.ID, hit.Value)
		}
	}
	fmt.Println("looked at", looked, "rows", err)
	// Output:
	// query 0: row 0, cosine 0.7103
	// query 0: row 19300, cosine 0.2375
	// query 1: row 11569, cosine 0.3135
	// query 1: row 12322, cosine 0.2690
	// looked at 132 rows <nil>
}

// The law of estimates, before any vector is seen.
func ExampleQuantiser_Theory() {
	for _, bits := range []float64{1, 2, 4, 8} {
		q, _ := quantise.New[float32](768, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
		_, variance := q.Theory(0.5)
		fmt.Printf("%v bits: standard deviation %.4f\n", bits, math.Sqrt(variance))
	}
	// Output:
	// 1 bits: standard deviation 0.0236
	// 2 bits: standard deviation 0.0115
	// 4 bits: standard deviation 0.0034
	// 8 bits: standard deviation 0.0003
}

// Rows in two clusters have codes of x − c, which err less.
func ExampleQuantiser_WithCentres() {
	const n, d = 1000, 64
	rng := rand.New(rand.NewPCG(1, 1))
	rows, query := dense.New[float32](n, d), make([]float32, d)
	for i := range n {
		for j := range d {
			rows.Set(i, j, float32(10*(1-2*(i%2)))+float32(rng.NormFloat64()))
		}
	}
	for j := range query { // ½ from row 124 in each coordinate, a squared distance of 16
		query[j] = rows.At(124, j) + 0.5
	}
	clusters, _ := kmeans.Cluster(context.Background(), rows, 2, kmeans.Options[float32]{MaxIterations: 10}, rng)
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 4}, rng)
	centred, _ := q.WithCentres(clusters.Centres)
	for _, q := range []quantise.Quantiser[float32]{q, centred} {
		codes, _ := q.Encode(context.Background(), rows)
		hit := codes.Search(make([]quantise.Hit, 1), q.Prepare(nil, query, quantise.SquaredDistance, 0))[0]
		fmt.Printf("row %d: %.1f ± %.1f\n", hit.ID, hit.Value, hit.StdErr)
	}
	// Output:
	// row 124: 16.2 ± 7.0
	// row 124: 16.4 ± 0.3
}

// Codes come back from a file with the quantiser that made them.
func ExampleCodes_Write() {
	q, _ := quantise.New[float32](100, quantise.Options{Bits: 2}, rand.NewPCG(1, 2))
	codes, _ := q.Encode(context.Background(), dense.New[float32](50, 100))
	var file bytes.Buffer
	_ = codes.Write(&file)
	read, err := quantise.Read[float32](&file)
	fmt.Println(read.Len(), read.Quantiser().Options(), err)
	// Output: 50 {2} <nil>
}

// estimateDistances writes the estimated distances of a query from the vectors of a partition. An
// error exceeds its bound with a probability of at most twice the miss probability of the query.
func estimateDistances(q quantise.Quantiser[float32], partition []byte, query *quantise.Query, distances, errorBounds []float32) error {
	estimates := make([]quantise.Estimate, len(distances))
	err := q.EstimateBytes(estimates, query, partition)
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
	partition, _ := q.EncodeBytes(nil, vectors.RowRange(0, 40))
	partition, _ = q.EncodeBytes(partition, vectors.RowRange(40, n))
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
