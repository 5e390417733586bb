package main

// entries are the examples, in the order of the page.
var entries = []entry{
	{
		name: "first", title: "Attention to a tolerance",
		shows: "Each point is an output of attention over 8192 tokens: exact to the right, by 256 landmarks upwards. " +
			"The points lie on the line, because the form was chosen to be within 5 % of exact attention.",
		command: "go run ./examples/first",
		code:    passage{"main.go", "main", "ctx, src := ", "found.Report"},
	},
	{
		name: "attention", title: "Error against time of forms of attention",
		shows: "The words of a real text attend to each other, and so do the tokens of a trained decoder, in four of its heads; each form has three sizes. " +
			"Landmarks err least for their time on the text, also because it has at most 1500 different words. On trained heads they and random features (SDERF, FAVOR+) fail, and clusters of keys are near. Exact attention in 8 bits is three times as fast and at most 1 % off.",
		command: "go run ./examples/attention",
		code:    passage{"forms.go", "measureForms", "start := time.Now()", "errors = append"},
	},
	{
		name: "variance", title: "Errors of random features beside their laws",
		shows: "Points are measured mean squared errors of three maps of exp(xᵀy), and lines are the exact laws, which no constant was fitted to. " +
			"Orthogonal frequencies (Gram–Schmidt) err less than independent ones, and products of Hadamard matrices err as little.",
		command: "go run ./examples/variance -kernel softmax -map trig,positive,optimal -projection iid,gram-schmidt,hadamard -draws 1000",
		code:    passage{"study.go", "law", "drawn, err := ", "return sum"},
	},
	{
		name: "rotation", title: "Rounding after a rotation",
		shows: "Vectors with a few large channels are rounded to 8 and 4 bits, as they are and after a random Hadamard rotation. " +
			"Without the rotation 4 bits lose all other channels, an error of 1; with it they keep them.",
		command: "go run ./examples/rotation -plot rotation.png",
		code:    passage{"main.go", "compare", "unrotated := x.Clone()", "back := "},
	},
	{
		name: "search", title: "Recall of codes beside theory",
		shows: "How many of the ten nearest passages of a text are found from codes of 1 to 8 bits per coordinate. " +
			"Points are means of eight rotations with 95 % intervals. The lines are what theory expects of each scheme if the errors of rows are independent; " +
			"rows that are near each other share a part of theirs, so that a little more is found. RaBitQ finds most or nearly most at all sizes.",
		command: "go run ./examples/search",
		code:    passage{"comparison.go", "one", "q, err := quantise.New", "recalls[draw] ="},
	},
	{
		name: "regression", title: "A row of a photograph with bands",
		shows: "A Gaussian process on random features is fitted to a quarter of the pixels of a photograph and predicts the others. " +
			"The band is to hold 90 % of all pixels; the command draws the whole photograph, its mean and its standard deviation besides.",
		command: "go run ./examples/regression -bands bands.png",
		code:    passage{"photo.go", "fit", "for _, part := range lengthScaleParts", "s, err := ridge.Choose"},
	},
	{
		name: "thompson", title: "A maximum in 50 evaluations",
		shows: "Each step draws a function from the posterior of a Gaussian process and evaluates where the draw is largest. " +
			"The points crowd at the hills of the function; on the right the band is narrow where there are points. " +
			"Between u = 0.62 and 0.85, where the search has no points on this line, the function leaves the band of 90 %: " +
			"the band trusts the length-scale that fits the points, and the search never learnt that valley, because it looks for hills.",
		command: "go run ./examples/thompson -plot thompson.png",
		code:    passage{"search.go", "maximise", "draw, err := h.model.Pathwise", "evaluate(at[0]"},
	},
	{
		name: "associative", title: "What linear attention mixes and the delta rule keeps",
		shows: "Pairs of keys and values are written into one matrix, half of them twice, and asked for again. " +
			"The sums of linear attention add the second value to the first; the delta rule replaces it, and errs less for any number of keys.",
		command: "go run ./examples/associative",
		code:    passage{"recall.go", "recall", "x := recurrence.Tokens", "answers := "},
	},
}
