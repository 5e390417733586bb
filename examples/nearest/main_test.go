package main

func Example() {
	main()
	// Output:
	// id 1123, cosine 0.611 ± 0.007
	// id 7999, cosine 0.301 ± 0.011
	// id 6055, cosine 0.300 ± 0.009
}
