package main

func Example() {
	main()
	// Output:
	// -0.83 ± 0.10, measured -0.98
	// -0.71 ± 0.10, measured -0.75
	// 1.31 ± 0.10, measured 1.48
}
