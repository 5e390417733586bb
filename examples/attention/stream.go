package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// The stream is a text, a token at a time, with landmarks from its first tokens.
const (
	streamLandmarks = 256
	streamWindow    = 256
	streamFirst     = 4096 // tokens that landmarks are chosen among
	streamAudited   = 256  // rows whose exact outputs are computed
)

// streamed says how attention over a stream went.
type streamed struct {
	tokens      int
	early, late int // bytes of the state after streamFirst tokens, or half of them all, and at the end
	exact       int // bytes of all keys and values
	step        time.Duration
	audited     audit.Report
}

// stream attends over the tokens q, k and v of a whole text causally, with constant memory.
func stream[T dense.Float](in head[T], seed uint64, scale float64) (streamed, error) {
	src := source(seed, "stream")
	n := in.k.Rows
	first := in.k.RowRange(0, min(streamFirst, n))
	z, err := landmarks.Pivoted(context.Background(), kernels.Gaussian{LengthScale: 1 / math.Sqrt(scale)}, first, min(streamLandmarks, first.Rows), src)
	if err != nil {
		return streamed{}, err
	}
	truth := performer.Exact[T]{Scale: scale, Causal: true}
	landmarks, err := performer.NewLandmarksAt(truth, z)
	if err != nil {
		return streamed{}, err
	}
	form, err := performer.NewCorrected(landmarks, performer.CorrectedOptions{Window: streamWindow}, nil)
	if err != nil {
		return streamed{}, err
	}
	state, err := form.NewState(in.k.Cols, in.v.Cols)
	if err != nil {
		return streamed{}, err
	}
	s := streamed{tokens: n, exact: int(unsafe.Sizeof(T(0))) * n * (in.k.Cols + in.v.Cols)}
	out := dense.New[T](n, in.v.Cols)
	start := time.Now()
	for i := range n {
		state.Step(out.RowRange(i, i+1), in.q.RowRange(i, i+1), in.k.RowRange(i, i+1), in.v.RowRange(i, i+1))
		if i+1 == min(streamFirst, (n+1)/2) {
			if s.early, err = bytesOf(state); err != nil {
				return streamed{}, err
			}
		}
	}
	s.step = time.Since(start) / time.Duration(n)
	if s.late, err = bytesOf(state); err != nil {
		return streamed{}, err
	}
	reports, err := audit.Rows(context.Background(), truth, in.q, in.k, in.v, audit.Options{Rows: streamAudited}, src, audit.Output[T](out))
	if err != nil {
		return streamed{}, err
	}
	s.audited = reports[0]
	return s, nil
}

func bytesOf[T dense.Float](s *performer.State[T]) (int, error) {
	data, err := s.MarshalBinary()
	return len(data), err
}

// reportStream prints how attention over a stream went.
func reportStream(w io.Writer, s streamed) error {
	_, err := fmt.Fprintf(w, `
The text as a stream of %d tokens, one at a time, causal: %d landmarks from the first %d tokens for the far past,
exact weights for the last %d tokens at least. %.0f µs a token. The state takes %.0f KiB at first and %.0f KiB at
the end, where exact attention keeps %.0f KiB. Beside exact attention of %d tokens drawn at random:
%v
`, s.tokens, streamLandmarks, streamFirst, streamWindow, float64(s.step.Nanoseconds())/1e3,
		float64(s.early)/1024, float64(s.late)/1024, float64(s.exact)/1024, s.audited.Rows, s.audited)
	return err
}
