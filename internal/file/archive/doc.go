// Package archive writes values as safetensors files or bytes, and reads them back to the bit.
//
// A value is a struct of exported fields, or a value of an interface type or pointer type of
// package registry. Each part of a value has a name: the name of the value and the names of fields,
// separated by dots, as in map.w.frequencies. The name of a field is its tag `archive:"name"`, or
// its Go name with a small first letter. A field with the tag `archive:"-"` is no part. Parts are
//
//	int, float64, bool, string       metadata: the number as text, the text
//	[]E, dense.Matrix[F]             a tensor with one or two dimensions
//	any other slice                  metadata: the number of elements; element i is the part i
//	struct                           its fields
//	interface, pointer               metadata: the name of the kind; then the fields of the struct
//
// where E is uint8, int32, int (written with 64 bits), uint32, uint64 or F, and F is float32 or
// float64. A nil slice, interface or pointer is the text nil. If the value of an interface is a
// slice, the slice is the part "terms".
//
// A value with derived data implements registry.Made, and Write writes a struct from which Read
// makes the value again. Metadata of every file are format (randfeat), kind, version, type (float32
// or float64) and checksum: the CRC-32 (IEEE, 8 hexadecimal digits) of "key\nvalue\n" for all other
// metadata, by key, and then of "name\ndtype\nd₀,d₁,…\n" and the bytes of each tensor, by name.
//
// A file must be complete, and every tensor and every key must be a part of the value. Memory is
// proportional to the bytes that Read has read.
package archive
