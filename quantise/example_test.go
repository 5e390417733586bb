package quantise_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
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

// Encoding in blocks shows its progress and ends with a context, and needs no more rows in memory
// than those of a block.
func ExampleCodes_Append() {
	const n, d, block = 2500, 64, 1000
	rng := rand.New(rand.NewPCG(1, 1))
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 4}, rng)
	codes, _ := q.Encode(context.Background(), dense.New[float32](0, d))
	for codes.Len() < n {
		rows := dense.New[float32](min(block, n-codes.Len()), d) // from a file
		for i := range rows.Data {
			rows.Data[i] = float32(rng.NormFloat64())
		}
		if err := codes.Append(context.Background(), rows); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d of %d rows\n", codes.Len(), n)
	}
	// Output:
	// 1000 of 2500 rows
	// 2000 of 2500 rows
	// 2500 of 2500 rows
}

// Two bits find the exact neighbours, if the rows themselves can be read: few of them.
func ExampleQuantiser_Search() {
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

	deleted := make(quantise.Bitmap, (n+63)/64)
	deleted.Set(1, true)
	read, looked := quantise.RowsOf(rows), 0
	hits := [][]quantise.Hit{make([]quantise.Hit, 2), make([]quantise.Hit, 2)}
	prepared := []*quantise.Query{q.Prepare(nil, queries.Row(0), quantise.Cosine, 0), q.Prepare(nil, queries.Row(1), quantise.Cosine, 0)}
	err := q.Search(context.Background(), hits, prepared, quantise.SearchOptions[float32]{
		Except: []quantise.Set{deleted},
		Rows: func(dst dense.Matrix[float32], segment int, ids []int) error { // from memory, or from a disk
			looked += len(ids)
			return read(dst, segment, ids)
		},
	}, codes)
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

// The law of the estimates of a scheme, before any vector is seen.
func ExampleQuantiser_Theory() {
	for _, s := range []quantise.Scheme{quantise.RaBitQ, quantise.LloydMax, quantise.Uniform, quantise.QJL} {
		q, _ := quantise.New[float32](768, quantise.Options{Scheme: s, Bits: 2}, rand.NewPCG(1, 2))
		mean, variance := q.Theory(0.5)
		fmt.Printf("%-8v mean %.3f, standard deviation %.4f\n", s, mean, math.Sqrt(variance))
	}
	// Output:
	// RaBitQ   mean 0.500, standard deviation 0.0115
	// LloydMax mean 0.441, standard deviation 0.0122
	// Uniform  mean 0.499, standard deviation 0.0178
	// QJL      mean 0.500, standard deviation 0.0170
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
	clusters, _ := kmeans.Cluster(context.Background(), rows, 2, 10, kmeans.Options[float32]{}, rng)
	q, _ := quantise.New[float32](d, quantise.Options{Bits: 4}, rng)
	centred, _ := q.WithCentres(clusters.Centres)
	for _, q := range []quantise.Quantiser[float32]{q, centred} {
		codes, _ := q.Encode(context.Background(), rows)
		hit := codes.Search(make([]quantise.Hit, 1), q.Prepare(nil, query, quantise.SquaredDistance, 0))[0]
		fmt.Printf("row %d: %.1f ± %.1f\n", hit.ID, hit.Value, hit.StdErr)
	}
	// Output:
	// row 124: 16.2 ± 2.0
	// row 124: 16.4 ± 0.3
}

// Codes come back from a file with the quantiser that made them.
func ExampleCodes_WriteTo() {
	q, _ := quantise.New[float32](100, quantise.Options{Bits: 2}, rand.NewPCG(1, 2))
	codes, _ := q.Encode(context.Background(), dense.New[float32](50, 100))
	var file bytes.Buffer
	n, _ := codes.WriteTo(&file)
	read, err := quantise.Read[float32](&file)
	fmt.Println(n, read.Len(), err)
	// Output: 2352 50 <nil>
}
