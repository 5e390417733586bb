// Package beamfeat learns on rows of many machines. Its transforms of Apache Beam compute the sums
// of package ridge, principal components, landmarks, and linear attention.
//
// The package is a separate module, so that only programs that import it download Beam.
//
// # Elements
//
// Elements are blocks of some thousand rows, ridge.Block[T], as ReadNPY and ReadCSV read them from
// shards. X (n×d) has points. Y (n×p) has targets, or the values of keys. Each block is one
// element, so blocks of few rows are slow.
//
// FitRidge fits a regression. FitComponents finds principal components of features. FitMetric
// computes a metric from gradients.
// UniformLandmarks draws points. Attend and AttendPerKey compute attention.
//
// # Data that workers exchange
//
// All transforms except the outputs of attention are combines. A worker sums each bundle of blocks
// into one accumulator, whose size does not depend on the number of rows; Beam calls this combiner
// lifting. The pipeline contains the file of the feature map once for each step that uses it.
// Elements do not contain it. rff.Write must support the map.
//
// An accumulator of sums has about D² numbers, and one worker merges all accumulators.
//
// A trigger that counts elements disables combiner lifting. A bounded PCollection in the global
// window, as the readers return, has no trigger.
//
// # Errors
//
// Transforms panic for invalid arguments while the pipeline is built, as the transforms of Beam do.
// Data that cannot be summed fail the pipeline with an error that names the data. Accumulators have
// a checksum, and runners drop the accumulators of failed bundles. So a run ends with the result of
// all rows or with an error.
//
// Results equal the results on one machine, except for the rounding of sums in another order. A
// runner chooses the order, so two runs may also differ by rounding. Landmarks do not differ.
//
// # References
//
//   - Chan, Golub, LeVeque: Algorithms for computing the sample variance. The American
//     Statistician 37, 1983.
//   - Akidau et al.: The dataflow model. VLDB 2015.
package beamfeat
