// Package beamfeat learns on rows that do not fit on one machine: the sums of package ridge,
// moments, landmarks and states of attention as transforms of Apache Beam.
//
// The package is a module of its own, so that only those who import it download Beam.
//
// # Elements
//
// Elements are blocks of some thousand rows, ridge.Block[T], as ReadNPY and ReadCSV read them from
// shards. Points are in X (n×d); targets, or the values of keys, are in Y (n×p). Blocks of a few
// rows work, at the price of an element each.
//
// FitRidge fits a regression, SumMoments sums means and products, also of features, PCA takes
// components from them, UniformLandmarks chooses points, and Attend and AttendPerKey answer queries
// by attention.
//
// # What travels
//
// All but the answers of attention are combines: each bundle of blocks is summed where it is read
// and leaves one accumulator, whose size does not depend on the number of rows (Beam calls that
// combiner lifting). The map of the features is a file of rff.Write inside the pipeline, once for
// each step that uses it, and no element has it. A map that rff.Write does not know cannot be used.
//
// Accumulators of regressions and moments have some D² numbers, and one worker merges them all
// unless Ridge.Fanout, or the argument of SumMoments, makes a tree of two levels: a combine for
// each of some keys of bundles, and one of their results. Keys are given to bundles and not to
// blocks, since a bundle with several keys would leave as many accumulators. Beam's SDK for Go has
// no fan-out of hot keys of its own.
//
// A trigger that counts elements turns combiner lifting off. Bounded PCollections in the global
// window, as the readers make them, have none.
//
// # Errors
//
// Transforms panic for bad arguments while the pipeline is built, as those of Beam do. Data that
// cannot be summed fail the pipeline with an error that names them. Accumulators carry a checksum,
// and runners drop those of bundles that failed: a run ends with the result of all rows or with an
// error.
//
// Results are those on one machine to the rounding of sums in another order. Runners are free in
// the order, so two runs may differ by rounding too. Landmarks do not.
//
// # References
//
//   - Chan, Golub, LeVeque: Algorithms for computing the sample variance. The American
//     Statistician 37, 1983.
//   - Akidau et al.: The dataflow model. VLDB 2015.
package beamfeat
