module github.com/seed-feabd252/randfeat/examples/transformer/trained

go 1.26.0
