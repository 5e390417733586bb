module github.com/seed-feabd252/randfeat/examples/attention/smollm2

go 1.26.0
