// Package projection has what package orf's projections offer to the rest of the module beyond their
// exported methods: results a tile at a time.
package projection

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Tiler is a projection that hands over XWᵀ a tile at a time, so that a tile is finished while
// it is in cache.
type Tiler[T dense.Float] interface {
	// ProjectTiles writes XWᵀ for the rows of x (n×d) into dst (n×m), which must not overlap x,
	// and calls done.Finish once for every tile. Finish may overwrite the columns of its tile.
	ProjectTiles(dst, x dense.Matrix[T], done matmul.Epilogue)
}

// TransposedTiler is a projection that hands over ZW a tile at a time.
type TransposedTiler[T dense.Float] interface {
	// ProjectTransposedTiles writes ZW for the rows of z (n×m) into dst (n×d), which must not
	// overlap z, and calls done.Finish as Tiler does.
	ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue)
}
