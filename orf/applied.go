package orf

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

type applied[T dense.Float] struct {
	m, d     int
	ensemble Ensemble // nil for frequencies of FromMatrix

	// project writes XWᵀ, and transpose ZW, of matrices that fit; done may be nil.
	project, transpose func(dst, x dense.Matrix[T], done matmul.Epilogue)
}

func (p *applied[T]) Shape() (m, d int) { return p.m, p.d }

func (p *applied[T]) Ensemble() Ensemble { return p.ensemble }

func (p *applied[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	p.checkColumns("x", x, p.d)
	dst = dense.Ensure(dst, x.Rows, p.m)
	p.project(dst, x, nil)
	return dst
}

func (p *applied[T]) ProjectTiles(dst, x dense.Matrix[T], done matmul.Epilogue) {
	p.checkColumns("x", x, p.d)
	checkOutput(dst, x.Rows, p.m)
	p.project(dst, x, done)
}

func (p *applied[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	p.checkColumns("z", z, p.m)
	dst = dense.Ensure(dst, z.Rows, p.d)
	p.transpose(dst, z, nil)
	return dst
}

func (p *applied[T]) ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue) {
	p.checkColumns("z", z, p.m)
	checkOutput(dst, z.Rows, p.d)
	p.transpose(dst, z, done)
}

func (p *applied[T]) checkColumns(name string, x dense.Matrix[T], columns int) {
	x.Check()
	if x.Cols != columns {
		panic(fmt.Sprintf("orf: %s is %d×%d, want n×%d for frequencies %d×%d", name, x.Rows, x.Cols, columns, p.m, p.d))
	}
}

func checkOutput[T dense.Float](dst dense.Matrix[T], n, m int) {
	dst.Check()
	if dst.Rows != n || dst.Cols != m {
		panic(fmt.Sprintf("orf: dst is %d×%d, want %d×%d", dst.Rows, dst.Cols, n, m))
	}
}
