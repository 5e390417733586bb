// Package safetensors reads and writes the safetensors format, in which most weights of models are
// published. A file holds named dense arrays of numbers, and nothing that a reader would execute.
//
//	f, err := safetensors.Read(file)                       // once for all tensors
//	w, err := safetensors.Floats[float32](f.Tensors["wte"]) // from any type of the format
//
// [ReadIndex] reads a model in several files. Package performer/layer reads layers from a File.
//
// [Read] returns an error for a file that is ambiguous. The tensors must cover the bytes after the
// header without holes and overlaps. No key may occur twice, no field of a tensor may be missing or
// unknown, and the header begins with '{'. The reference implementation of Hugging Face permits
// equal names, unknown fields and white space. Read accepts NaN and ±Inf. The format has no
// checksum: damaged elements are read as other numbers.
//
// Memory is bounded by the number of bytes that were read, and not by the lengths in the file. The
// header has at most 100 MB, as in the reference implementation.
//
// Equal Files give equal bytes of [Write], in the order of the reference implementation: tensors by
// falling rank of their types and then by name, which aligns each tensor to the size of an element.
//
// The format is described at https://github.com/huggingface/safetensors, section "Format", and the
// types of 8 bits in the OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023.
package safetensors
