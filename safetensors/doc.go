// Package safetensors reads and writes the safetensors format, in which most weights of models are
// published. A file holds named dense arrays of numbers, and nothing that a reader would execute.
//
//	f, err := safetensors.Read(file)                       // once for all tensors
//	w, err := safetensors.Floats[float32](f.Tensors["wte"]) // from any type of the format
//
// [ReadIndex] reads a model in several files. Package performer/layer reads layers from a File.
//
// [Read] returns an error for a file that is ambiguous, with an equal key, an unknown or missing
// field of a tensor, or a hole or an overlap of tensors, where the reference implementation of
// Hugging Face permits equal names and unknown fields. Read accepts NaN and ±Inf. The format has no
// checksum: damaged elements are read as other numbers. The header of a file has at most 100 MB, as
// in the reference implementation.
//
// The format is described at https://github.com/huggingface/safetensors, section "Format", and the
// types of 8 bits in the OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023.
package safetensors
