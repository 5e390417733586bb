module github.com/seed-feabd252/randfeat/internal/_asm

go 1.26.0

require (
	github.com/mmcloughlin/avo v0.5.0
	github.com/seed-feabd252/randfeat v0.0.0
	golang.org/x/arch v0.32.0
)

require (
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.50.0 // indirect
)

replace github.com/seed-feabd252/randfeat => ../..
