// Package safetensors reads and writes the safetensors format, in which most weights of models are
// published. A file holds named dense arrays of numbers, and nothing that a reader would execute.
//
//	f, err := safetensors.Read(file)                       // once for all tensors
//	w, err := safetensors.Floats[float32](f.Tensors["wte"]) // from F64, F32, F16, BF16, F8 or integers
//
// [ReadIndex] reads a model in several files. Package performer/layer reads layers of attention from a File.
//
// # The format
//
// A file has three sections, with all integers little-endian:
//
//	8 bytes   N, the length of the header, an unsigned integer
//	N bytes   the header, a JSON object in UTF-8
//	the rest  the buffer: the elements of all tensors, row-major
//
// The header maps the name of each tensor to its element type, its shape, and the offsets of its
// bytes from the start of the buffer:
//
//	{"__metadata__": {"key": "text"},
//	 "weights": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Offsets are half-open, [begin, end). The key __metadata__ is optional and maps text to text;
// null, which some writers write, means no metadata. The shape [] is a scalar. A shape with a 0 is
// an empty tensor, which takes no bytes. The header starts with '{' and may end with spaces.
//
// # What Read demands
//
// Read returns an error for a file that is ambiguous. The tensors must cover the buffer from the
// first to the last byte without holes and overlaps, and each tensor must take exactly the bytes of
// its type and shape. No key may occur twice, no field may be missing or unknown, and integers
// consist of digits alone.
//
// The reference implementation is more lenient in four points. It reads the last of two tensors of
// one name, ignores unknown fields of a tensor, permits white space before the '{', and permits any
// dimensions after a 0. This package requires that the product of the non-zero dimensions of an
// empty tensor fits an int, so that no partial product of a shape overflows.
//
// Read does not check values: it accepts NaN and ±Inf. The format has no checksum, so that damaged
// elements are read as other numbers.
//
// # Cost of hostile input
//
// Memory use is bounded by the number of bytes that were read, and not by the lengths in the file:
// a block grows by doubling while its bytes arrive. The header is at most 100 MB, as in the
// reference implementation. It is read without recursion, because its grammar has a fixed depth.
// Errors quote at most 80 characters of a string in the header.
//
// # What Write produces
//
// Equal Files give equal bytes. Tensors have the order of the reference implementation, by falling
// rank of their types (DType) and then by name, which aligns each tensor to the size of its
// elements. Spaces pad the header to a multiple of 8 bytes, so that the buffer is aligned within
// the file. Metadata have the order of their keys; the reference implementation orders them in no
// way.
//
// # Source
//
//   - [Safetensors] Hugging Face. Safetensors, section "Format" of the README.
//     https://github.com/huggingface/safetensors
//   - [OFP8] Open Compute Project. OCP 8-bit Floating Point Specification (OFP8), revision 1.0,
//     2023.
package safetensors
