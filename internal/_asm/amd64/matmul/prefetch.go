package matmul

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

func prefetch() {
	const line = 64
	TEXT("prefetch", NOSPLIT, "func(p *byte, rows, stride, bytes int)")
	Doc("prefetch asks for so many bytes at p, p + stride, … to be brought into the caches; rows and bytes are positive.")
	Pragma("noescape")
	p, rows := amd64.Argument("p"), amd64.Argument("rows")
	stride, bytes := amd64.Argument("stride"), amd64.Argument("bytes")
	at, end := GP64(), GP64()
	Label("row")
	LEAQ(Mem{Base: p, Index: bytes, Scale: 1}, end)
	MOVQ(p, at)
	ANDQ(I32(-line), at)
	Label("line")
	PREFETCHT1(Mem{Base: at})
	ADDQ(I32(line), at)
	CMPQ(at, end)
	JB(LabelRef("line"))
	ADDQ(stride, p)
	amd64.Repeat("row", rows)
	RET()
}
