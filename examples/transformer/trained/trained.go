// Package trained holds a decoder with the layers of Llama that was trained on the text of the Go
// distribution. It is a module of its own, so that the library comes without the weights.
package trained

import "embed"

// Files holds config.json, model.safetensors (half precision) and merges.txt, as Hugging Face's
// programs read them.
//
//go:embed config.json model.safetensors merges.txt
var Files embed.FS
