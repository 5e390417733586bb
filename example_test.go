package randfeat_test

import (
	"fmt"
	"strings"

	"github.com/seed-feabd252/randfeat"
)

// The README and the pages of docs are compiled in.
func Example() {
	readme, err := randfeat.Pages.ReadFile("README.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	title, _, _ := strings.Cut(string(readme), "\n")
	fmt.Println(title)
	pages, err := randfeat.Pages.ReadDir("docs")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pages[0].Name())
	// Output:
	// # randfeat
	// arithmetic.md
}
