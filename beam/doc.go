// Package beamfeat learns on rows of many machines: transforms of Apache Beam compute the sums of
// package ridge, principal components, landmarks, and linear attention. The package is a module of
// its own, so that only programs that import it download Beam.
//
// Elements are blocks of some thousand rows, ridge.Block[T], as ReadNPY and ReadCSV read them from
// shards. The rows of X (n×d) of a block are points, and the rows of Y (n×p) are targets of
// regression or values of attention. FitRidge fits a regression, FitComponents finds principal
// components, FitMetric computes a metric from gradients, UniformLandmarks draws points, Predict
// evaluates a model, and Attend and AttendPerKey compute attention.
//
// All transforms except Predict and the outputs of attention are combines. A worker sums each
// bundle of blocks into one accumulator of about D² numbers, and one worker merges all
// accumulators. A trigger that counts elements prevents this combiner lifting. The pipeline
// contains the file of the feature map once for each step, so rff.Write must support the map.
//
// Transforms panic for invalid arguments while the pipeline is built. Data that cannot be summed
// fail the pipeline with an error that names the data. Results equal the results on one machine,
// except for the rounding of sums in another order.
//
// References: Chan, Golub & LeVeque, Algorithms for computing the sample variance, The American
// Statistician 37, 1983. Akidau et al., The dataflow model, VLDB 2015.
package beamfeat
