package automl

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks
