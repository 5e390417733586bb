package safetensors

// DType is the element type of a tensor, by the name of the type in the header of the file.
type DType string

// The DType constants are the element types of the safetensors format. In names such as F8_E4M3, E4
// means 4 bits of exponent and M3 means 3 bits of mantissa. Elements of fewer than 8 bits are
// packed without gaps within a tensor.
const (
	Bool       DType = "BOOL"    // one byte
	F4         DType = "F4"      // MXFP4
	F6E2M3     DType = "F6_E2M3" // MXFP6
	F6E3M2     DType = "F6_E3M2" // MXFP6
	U8         DType = "U8"
	I8         DType = "I8"
	F8E5M2     DType = "F8_E5M2"
	F8E4M3     DType = "F8_E4M3"
	F8E8M0     DType = "F8_E8M0"
	F8E4M3FNUZ DType = "F8_E4M3FNUZ"
	F8E5M2FNUZ DType = "F8_E5M2FNUZ"
	I16        DType = "I16"
	U16        DType = "U16"
	F16        DType = "F16"  // IEEE 754 binary16
	BF16       DType = "BF16" // the upper half of binary32
	I32        DType = "I32"
	U32        DType = "U32"
	F32        DType = "F32" // IEEE 754 binary32
	C64        DType = "C64" // two binary32
	F64        DType = "F64" // IEEE 754 binary64
	I64        DType = "I64"
	U64        DType = "U64"
)

// The reference implementation writes tensors by the rank of their types in this order.
var dtypes = [...]struct {
	name DType
	bits uint64
}{
	{Bool, 8}, {F4, 4}, {F6E2M3, 6}, {F6E3M2, 6}, {U8, 8}, {I8, 8},
	{F8E5M2, 8}, {F8E4M3, 8}, {F8E8M0, 8}, {F8E4M3FNUZ, 8}, {F8E5M2FNUZ, 8},
	{I16, 16}, {U16, 16}, {F16, 16}, {BF16, 16},
	{I32, 32}, {U32, 32}, {F32, 32},
	{C64, 64}, {F64, 64}, {I64, 64}, {U64, 64},
}

func (d DType) rank() int {
	for i := range dtypes {
		if dtypes[i].name == d {
			return i
		}
	}
	return -1
}
