// Package safetensors reads and writes the safetensors format, in which most weights of models are
// published: named dense arrays of numbers in one file, with nothing in it that a reader would
// execute.
//
//	f, err := safetensors.Read(file)                       // once for all tensors
//	w, err := safetensors.Floats[float32](f.Tensors["wte"]) // from F64, F32, F16, BF16, F8 or integers
//
// Package performer/layer reads layers of attention from a File.
//
// # The format
//
// A file has three sections, with all integers little-endian:
//
//	8 bytes   N, the length of the header, an unsigned integer
//	N bytes   the header, a JSON object in UTF-8
//	the rest  the buffer: the elements of all tensors, row-major
//
// The header maps each tensor's name to its element type, its shape, and where
// in the buffer its bytes are, counted from the start of the buffer:
//
//	{"__metadata__": {"key": "text"},
//	 "weights": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Offsets are half-open, [begin, end). The key __metadata__ is optional and holds text by text;
// null, as some writers have it, is none. The shape [] is a scalar, and a shape with a 0 in it an
// empty tensor, which takes no bytes. The header starts with '{' and may end with spaces.
//
// # What Read demands
//
// A file either means one thing or is refused. The tensors cover the buffer from
// its first to its last byte with no hole and no overlap, and each takes exactly
// the bytes that its type and shape imply. No key occurs twice, no field is missing
// or unknown, and integers have digits alone.
//
// The reference implementation is more lenient in four points. It lets the last of
// two tensors of one name win, ignores unknown fields of a tensor, lets white space
// precede the '{', and takes any dimensions after a 0. In this package the non-zero
// dimensions of an empty tensor must have a product that fits an int too, so that no
// partial product of a shape that was read overflows.
//
// Read does not check values: NaN and ±Inf come through. The format has no checksum, so elements
// that were damaged are other numbers.
//
// # Cost of hostile input
//
// Memory use is bounded by the bytes that have arrived, not by the lengths that they claim: a block
// grows by doubling while its bytes come in. The header is at most 100 MB, as in the reference
// implementation, and is read without recursion, since its grammar has a fixed depth. Errors quote
// at most 80 characters of a string in it.
//
// # What Write produces
//
// The same File gives the same bytes. Tensors are in the order of the reference
// implementation, by falling rank of their types (DType) and then by name, which
// aligns each to the size of its elements; the header is padded with spaces to a
// multiple of 8 bytes, so that the buffer too is aligned within the file.
// Metadata are in the order of their keys, where the reference has none.
//
// # Source
//
//   - [Safetensors] Hugging Face. Safetensors, section "Format" of the README.
//     https://github.com/huggingface/safetensors
//   - [OFP8] Open Compute Project. OCP 8-bit Floating Point Specification (OFP8), revision 1.0,
//     2023.
package safetensors
