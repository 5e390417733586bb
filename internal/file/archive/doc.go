// Package archive writes values that are made of numbers, arrays and each other as safetensors
// files, and reads them back to the bit: maps, projections, kernels and models.
//
// # What is written
//
// A value is a struct of exported fields, or a value of an interface type that Register knows. A
// name leads to each part of a value: the name of the whole, then the names of fields, separated by
// dots, as in map.w.frequencies. The name of a field is that of its tag `archive:"name"`, or its own
// with a small first letter. Parts are
//
//	int, float64, bool               metadata: the number as text
//	[]E, dense.Matrix[E], Array[E]   a tensor with one, two or any number of dimensions
//	any other slice                  metadata: the number of elements; element i is the part i
//	struct                           its fields
//	interface                        metadata: the name of the kind; then the fields of the struct
//
// where E is int8, int (written with 64 bits), float32 or float64. A nil slice or interface is the
// text nil. A slice that is the value of an interface is its part "terms".
//
// Values that hold more than they are made of, such as packed copies, are Made: they are written as
// their recipe, a struct that makes the value again. Renaming a field without a tag, or a kind, changes the format.
// Golden files of the packages above tell.
//
// # What every file says
//
// The metadata also have
//
//	format     randfeat
//	version    1
//	type       float32 or float64
//	checksum   CRC-32 (IEEE, zlib.crc32 in Python) in 8 hexadecimal digits
//
// The checksum is that of "key\nvalue\n" for all other metadata, sorted by key, and then of
// "name\ndtype\nd₀,d₁,…\n" and the bytes of each tensor, sorted by name.
//
// # What Read demands
//
// A file is complete, intact, and holds nothing that is not a part of the value. Errors name the
// part. Memory follows the bytes that have arrived, and recipes allocate no more than a multiple of
// their arrays. Values inside values are at most 64 deep.
package archive
