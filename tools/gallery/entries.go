package main

// entries are the examples, in the order of the page.
var entries = []entry{
	{
		name: "first", title: "Attention to a tolerance",
		shows: "Each point is an output of attention over 8192 tokens: exact to the right, by 256 landmarks upwards. " +
			"The points lie on the line, because the program asked for an error within 5 %.",
		command: "go run ./examples/first",
		code:    passage{"main.go", "main", "ctx, src := ", "found.Report"},
	},
	{
		name: "attention", title: "Error against time of several kinds of attention",
		shows: "Left, the words of a real text attend to each other. Right, the tokens of a text do so in four heads of a trained decoder. Each kind of attention has three sizes. " +
			"On the text landmarks have the smallest error for their time, also because the text has at most 1500 different words. On trained heads landmarks and random features (SDERF, FAVOR+) fail, " +
			"and clusters of keys have small errors. Exact attention in 8 bits is three times as fast and at most 1 % off.",
		command: "go run ./examples/attention",
		code:    passage{"forms.go", "measureForms", "start := time.Now()", "errors = append"},
	},
	{
		name: "variance", title: "Errors of random features beside their laws",
		shows: "Points are measured mean squared errors of three maps of exp(xᵀy). Lines are the exact laws; no constant of a law is fitted. " +
			"Orthogonal frequencies (Gram–Schmidt) have smaller errors than independent frequencies. Products of Hadamard matrices have errors as small as Gram–Schmidt.",
		command: "go run ./examples/variance -kernel softmax -map trig,positive,optimal -projection iid,gram-schmidt,hadamard -draws 1000",
		code:    passage{"study.go", "law", "drawn, err := ", "return sum"},
	},
	{
		name: "search", title: "Recall of codes beside theory",
		shows: "The recall is the share of the ten nearest passages of a text that a search finds from codes of 1 to 8 bits per coordinate. " +
			"Points are means over eight rotations with 95 % intervals. Lines are the recall that theory predicts for each scheme if the errors of rows are independent. " +
			"Rows that are near each other share a part of their errors, so searches find a little more. RaBitQ finds most or nearly most at all sizes.",
		command: "go run ./examples/search",
		code:    passage{"comparison.go", "one", "q, err := quantise.New", "recalls[draw] ="},
	},
	{
		name: "regression", title: "A row of a photograph with bands",
		shows: "A Gaussian process on random features is fitted to a quarter of the pixels of a photograph and predicts the others. " +
			"The band should contain 90 % of all pixels. The command also draws the whole photograph, its mean and its standard deviation.",
		command: "go run ./examples/regression -bands bands.png",
		code:    passage{"photo.go", "fit", "for _, part := range lengthScaleParts", "s, err := ridge.Choose"},
	},
	{
		name: "associative", title: "What linear attention mixes and the delta rule keeps",
		shows: "The program writes pairs of keys and values into one matrix, half of the keys twice, and then reads all values. " +
			"Linear attention adds the second value of a key to the first. The delta rule replaces the first value, and has a smaller error for any number of keys.",
		command: "go run ./examples/associative",
		code:    passage{"recall.go", "recall", "x := recurrence.Tokens", "answers := "},
	},
}
