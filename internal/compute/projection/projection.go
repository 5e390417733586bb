// Package projection declares methods of the projections of package orf that only this module uses.
package projection

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Tiler is a projection that computes XWᵀ tile by tile.
type Tiler[T dense.Float] interface {
	// ProjectTiles writes XWᵀ for the rows of x (n×d) into dst (n×m), which must not overlap x.
	// ProjectTiles calls done.Finish once for every tile. Finish may overwrite the columns of its
	// tile.
	ProjectTiles(dst, x dense.Matrix[T], done matmul.Epilogue)
}

// TransposedTiler is a projection that computes ZW tile by tile.
type TransposedTiler[T dense.Float] interface {
	// ProjectTransposedTiles writes ZW for the rows of z (n×m) into dst (n×d), which must not
	// overlap z. ProjectTransposedTiles calls done.Finish as Tiler does.
	ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue)
}
