package quantise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Learn returns a quantiser for vectors like the rows of the argument sample (n×d), with opts.Bits
// bits per coordinate on average. A quantiser of Learn has more bits, up to 8, for directions along
// which the sample is large, and none where the sample is small.
//
// Learn subtracts the mean of the sample if the mean is large, finds the principal directions,
// groups directions with equal numbers of bits into bands, and rotates each band at random. With
// Bits > 1, StdErr is right on average over queries like the sample even for a row that is larger
// or smaller along some directions than the sample. With Learn, StdErr does not cover what later
// rows have along directions without bits: learn again and encode all rows again when rows have
// directions that the sample lacks. Page docs/search.md has the law of StdErr, and says which
// samples get equal bits for all directions. If all directions get equal bits and no mean is
// subtracted, Learn returns the quantiser of New for opts and src, unless New rejects opts.Bits or
// rotates vectors into more dimensions.
//
// Learn uses every m-th row of a sample in R^d, for the largest m that leaves at least 16,384 rows
// and at least 16d rows; 4d rows are enough. With Learn, the code of a row of d numbers takes at
// most d·Bits/8 bytes, rounded up to a multiple of 8, plus 8, plus 4 if Bits > 1, plus 4 if Learn
// subtracts a mean. To encode a row or to prepare a query takes d² multiply-adds.
//
// Learn needs O(n·d² + d³) operations for an n×d sample, and looks at ctx between the steps, of
// which finding the principal directions takes longest. For a sample in R^d, Learn returns an error
// if ctx ends, if src is nil, if an option is invalid, if a row is not finite or has a norm above
// 2¹⁰⁰, if a mean to subtract has a norm below 2⁻²⁴ or above 2²⁴, if fewer than two rows have norms
// above 2⁻¹⁰⁰ and are no multiples of a mean to subtract, or if 4d² float64 take more than 2⁴⁰
// bytes. Learn panics if ctx is nil.
func Learn[T dense.Float](ctx context.Context, sample dense.Matrix[T], opts Options, src rand.Source) (Quantiser[T], error) {
	if err := argument.Context("quantise", ctx); err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errNil("src")
	}
	opts.Bits = cmp.Or(opts.Bits, 4)
	if err := opts.checkLearned(); err != nil {
		return nil, err
	}
	sample.Check()
	if sample.Cols < 1 {
		return nil, fmt.Errorf("quantise: d = %d, want at least 1", sample.Cols)
	}
	if err := limit.Memory[float64](sample.Cols, 4*sample.Cols); err != nil {
		return nil, fmt.Errorf("quantise: d = %d: %w", sample.Cols, err)
	}
	step := max(1, sample.Rows/max(1<<14, 16*sample.Cols))
	x := dense.New[float64](sample.Rows/step, learnedOrder(sample.Cols))
	for i := range x.Rows {
		dense.Copy(x.RowRange(i, i+1).ColRange(0, sample.Cols), sample.RowRange(i*step, i*step+1))
	}
	r := recipe{Options: opts, D: sample.Cols, Seed: []uint64{src.Uint64(), src.Uint64()}}
	s, err := learn(ctx, x, step, sample.Cols, opts, rand.New(src))
	if err != nil {
		return nil, err
	}
	r.Learned = []spectrum{*s}
	if _, lacks := opts.check(); len(s.Bands) == 1 && s.Mean == nil && lacks == nil {
		if order, _ := opts.order(r.D); order == r.D {
			r.Learned = nil
		}
	}
	return newOf[T](r)
}

func (o Options) checkLearned() error {
	if !(o.Bits >= 0.125 && o.Bits <= 8) {
		return fmt.Errorf("quantise: Bits = %v, want from 1/8 to 8, or 0 for 4", o.Bits)
	}
	return nil
}

const (
	segmentSize  = 16 // the least number of coordinates whose bits allocate chooses
	mostSegments = 64
	heldOut      = 4 // one row in so many is held out
	// The energy of the mean over that of the rows, from which on the mean is subtracted.
	meanShare, meanShareOfBit = 1. / 32, 0.5
)

// learn is Learn for every step-th row of a sample, with zeros after the elements of R^in. It
// changes x.
func learn(ctx context.Context, x dense.Matrix[float64], step, in int, opts Options, rng *rand.Rand) (*spectrum, error) {
	d := x.Cols
	s := &spectrum{Directions: dense.New[float32](d, in)}
	mean, energy := make([]float64, d), 0.0
	for i := range x.Rows {
		row := x.Row(i)
		square := 2 * vecmath.HalfSquaredNorm(row)
		if !(square <= 0x1p200) {
			return nil, fmt.Errorf("quantise: row %d of the sample holds NaN or ±Inf, or has a norm above 2¹⁰⁰", i*step)
		}
		energy += square / float64(x.Rows)
		vecmath.AddScaled(mean, row, 1/float64(x.Rows))
	}
	square, least := 2*vecmath.HalfSquaredNorm(mean), meanShare
	if opts.Bits <= 1 {
		least = meanShareOfBit
	}
	if x.Rows > 1 && in > 1 && square > least*energy {
		if !(square >= leastMean*leastMean && square <= 1/(leastMean*leastMean)) {
			return nil, fmt.Errorf("quantise: the mean of the sample has the norm %.3g, want from 2⁻²⁴ to 2²⁴", math.Sqrt(square))
		}
		s.Mean = mean
		for j, v := range mean {
			s.Mean[j] = float64(float32(v)) // of both types
		}
		square = 2 * vecmath.HalfSquaredNorm(mean)
	}
	n := 0
	for i := range x.Rows {
		row, least := x.Row(n), 0x1p-100
		copy(row, x.Row(i))
		if s.Mean != nil {
			least = max(least, 0x1p-40*math.Sqrt(2*vecmath.HalfSquaredNorm(row))) // the rest is rounding
			vecmath.AddScaled(row, mean, -1)
			vecmath.AddScaled(row, mean, -vecmath.Dot(row, mean)/square)
		}
		if norm := math.Sqrt(2 * vecmath.HalfSquaredNorm(row)); norm >= least {
			vecmath.Scale(row, 1/norm)
			n++
		}
	}
	if n < 2 {
		return nil, fmt.Errorf("quantise: %d rows of the sample have norms from 2⁻¹⁰⁰ to 2¹⁰⁰ about the mean, want 2", n)
	}
	some, test := dense.New[float64](n-(n+heldOut-1)/heldOut, d), dense.New[float64]((n+heldOut-1)/heldOut, d)
	for i := range n {
		to := some
		at := i - i/heldOut - 1
		if i%heldOut == 0 {
			to, at = test, i/heldOut
		}
		copy(to.Row(at), x.Row(i))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	axes, err := principal(some)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	axes = s.divide(product(test, axes), product(some, axes), axes, opts, rng)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Mean != nil {
		for i := range d { // principal directions without variance may have a part along the mean
			row := axes.Row(i)
			vecmath.AddScaled(row, mean, -vecmath.Dot(row, mean)/square)
		}
	}
	dense.Copy(s.Directions, axes.ColRange(0, in))
	if s.Mean != nil {
		s.Mean = mean[:in]
	}
	s.measure(product(test, axes), opts)
	return s, ctx.Err()
}

func product(x, a dense.Matrix[float64]) dense.Matrix[float64] {
	y := dense.New[float64](x.Rows, a.Rows)
	matmul.MulT(1, x, a, 0, y)
	return y
}

func principal(x dense.Matrix[float64]) (dense.Matrix[float64], error) {
	d := x.Cols
	square := dense.New[float64](d, d)
	columns := dense.Transpose(dense.Matrix[float64]{}, x)
	matmul.MulT(1, columns, columns, 0, square)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(d, square.Data), true) {
		return square, errors.New("quantise: the principal directions of the sample do not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i := range d {
		for j := range d {
			square.Set(i, j, vectors.At(j, d-1-i))
		}
	}
	return square, nil
}

// divide sets bands, for coordinates y of rows along axes and those of the rows that axes were
// learned from, and returns the directions.
func (s *spectrum) divide(y, learned, axes dense.Matrix[float64], opts Options, rng *rand.Rand) dense.Matrix[float64] {
	d := y.Cols
	size := (max(segmentSize, (d+mostSegments-1)/mostSegments) + segmentSize - 1) / segmentSize * segmentSize
	var order, sizes []int
	for left := d; left > 0; left -= sizes[len(sizes)-1] {
		n := size
		if left < 2*size { // the law of estimates does not hold for a band of a few coordinates
			n = left
		}
		order, sizes = append(order, len(order)), append(sizes, n)
	}
	rows, variances := energiesOf(y, sizes)
	_, ofLearned := energiesOf(learned, sizes)
	bits := allocate(rows, variances, ofLearned, sizes, opts.learnedWords(s.Directions.Cols))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bits[b], bits[a]) })
	sorted, turned := dense.New[float64](d, d), dense.New[float64](d, d)
	at := 0
	for _, k := range order {
		dense.Copy(sorted.RowRange(at, at+sizes[k]), axes.RowRange(k*size, k*size+sizes[k]))
		at += sizes[k]
		last := len(s.Bands) - 1
		if last < 0 || bits[k] == 0 || bits[k] != s.Bands[last].Bits {
			s.Bands, last = append(s.Bands, band{Bits: bits[k]}), last+1
		}
		s.Bands[last].Size += sizes[k]
		s.Bands[last].Share += variances[k]
	}
	at = 0
	for _, b := range s.Bands {
		from, to := sorted.RowRange(at, at+b.Size), turned.RowRange(at, at+b.Size)
		at += b.Size
		if b.Bits == 0 {
			dense.Copy(to, from)
		} else {
			matmul.Mul(1, haar(b.Size, rng), from, 0, to)
		}
	}
	return turned
}

// energiesOf returns the squared norms of the rows of y in each segment, and their means with
// priorRows.
func energiesOf(y dense.Matrix[float64], sizes []int) (rows dense.Matrix[float64], means []float64) {
	rows, means = dense.New[float64](y.Rows, len(sizes)), make([]float64, len(sizes))
	for i := range y.Rows {
		from := 0
		for k, n := range sizes {
			rows.Set(i, k, 2*vecmath.HalfSquaredNorm(y.Row(i)[from:from+n]))
			from += n
		}
		vecmath.AddScaled(means, rows.Row(i), 1)
	}
	for k, n := range sizes {
		means[k] = (means[k] + priorRows*float64(n)/float64(y.Cols)) / float64(y.Rows+priorRows)
	}
	return rows, means
}

// priorRows is the number of rows with equal energy in all directions that energiesOf adds: a later
// row may have what the sample lacks.
const priorRows = 4

func haar(n int, rng *rand.Rand) dense.Matrix[float64] {
	a := dense.New[float64](n, n)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	var q, r mat.Dense
	qr.Factorize(mat.NewDense(n, n, a.Data))
	qr.QTo(&q)
	qr.RTo(&r)
	turn := dense.New[float64](n, n)
	for i := range n {
		for j := range n {
			turn.Set(i, j, q.At(i, j)*math.Copysign(1, r.At(j, j)))
		}
	}
	return turn
}

func (s *spectrum) measure(y dense.Matrix[float64], opts Options) {
	at := 0
	for k := range s.Bands {
		b := &s.Bands[k]
		b.Step, b.Unit, b.Noise, b.Weight = 1, 1, 1, 1
		if b.Bits > 0 {
			b.findStep(y.ColRange(at, at+b.Size), b.Size == y.Cols)
		}
		at += b.Size
	}
	b := bandsOf(s.Bands)
	codes, all, each := make([]uint8, y.Cols), make([]bandSums, len(s.Bands)), 1/float64(y.Rows)
	noises, biases, square := make([]float64, len(s.Bands)), make([]float64, len(s.Bands)), 0.0
	for i := range y.Rows {
		writeBands(codes, all, b, y.Row(i), 1)
		ratio := b.ratio(all)
		square += ratio * ratio * each
		for k, one := range s.Bands {
			short, noise := one.errors(all[k], ratio)
			noises[k] += noise * each
			biases[k] += short * short * all[k].energy * each
		}
	}
	if opts.Bits > 1 || square == 0 {
		square = 1 // otherwise the square of the ratio is the variance of a row
	}
	more := float64(priorRows) // of energiesOf; later rows lack nothing of a single band
	if len(s.Bands) == 1 {
		more = 0
	}
	for k := range s.Bands {
		one := &s.Bands[k]
		prior := one.Share / float64(one.Size) * bitNoise[one.Bits]
		one.Noise = (noises[k]/square*float64(y.Rows) + more*prior) / (float64(y.Rows) + more)
		one.Weight = max(math.Sqrt(biases[k]/one.Share), 0x1p-6)
	}
}

// findStep sets Step and Unit. whole reports whether y has all coordinates of the rows.
func (b *band) findStep(y dense.Matrix[float64], whole bool) {
	n := 1 << (b.Bits - 1)
	codes, all, best := make([]uint8, b.Size), make([]bandSums, 1), 0.0
	middle := math.Sqrt(b.Share / float64(b.Size))
	b.Step, b.Unit = middle, middle // if the rows have nothing in the band
	try := func(step float64) {
		one := &bands{list: []band{{Size: b.Size, Bits: b.Bits, Step: step, Unit: 1}}}
		along, square, energy := 0.0, 0.0, 0.0
		for i := range y.Rows {
			writeBands(codes, all, one, y.Row(i), 1)
			along, square, energy = along+all[0].along, square+all[0].square, energy+all[0].energy
		}
		if cosine := along / math.Sqrt(square); cosine > best {
			best, b.Step, b.Unit = cosine, step, energy/along
		}
	}
	switch {
	case n == 1:
		try(middle)
		return
	case whole: // the law of the coordinates is known
		try(codelaw.BestUniform(b.Size, n).Edges[1])
		return
	}
	// Norms of rows in a band differ: larger steps than for normal coordinates cut fewer off.
	const large = 1 << 12
	middle *= codelaw.BestUniform(large, n).Edges[1] * math.Sqrt(large)
	for k := -3; k <= 6; k++ {
		try(middle * math.Pow(1.15, float64(k)))
	}
	middle = b.Step
	for k := -7; k <= 7; k++ {
		try(middle * math.Pow(1.02, float64(k)))
	}
}
