package main

func Example() {
	main()
	// Output:
	// row 123, cosine 0.710 ± 0.005
	// row 6023, cosine 0.256 ± 0.007
	// row 741, cosine 0.219 ± 0.006
}
