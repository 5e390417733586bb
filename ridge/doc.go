// Package ridge learns functions from data with the feature maps of package rff: Bayesian ridge
// regression on φ(x), which is Gaussian process regression with the kernel φ(x)ᵀφ(x′).
package ridge
