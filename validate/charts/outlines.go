package charts

import (
	"fmt"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// outlines is a canvas that draws text as the outlines of its letters. PDF needs it: gonum's canvas
// writes text in an encoding that lacks ‖, ² and Greek letters.
type outlines struct{ vg.CanvasWriterTo }

// FillString fills the letters of text from pt to the right.
func (c outlines) FillString(face font.Face, pt vg.Point, text string) {
	var b sfnt.Buffer
	f := face.Face
	em := f.UnitsPerEm()
	unit := face.Font.Size / vg.Length(em) / 64 // of 26.6 numbers
	at := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: pt.X + vg.Length(p.X)*unit, Y: pt.Y - vg.Length(p.Y)*unit}
	}
	size := fixed.I(int(em))
	var path vg.Path
	var before sfnt.GlyphIndex
	for i, r := range text {
		glyph, err := f.GlyphIndex(&b, r)
		must(err, r)
		if i > 0 {
			// Fonts without a table of pairs have an error here, and no kerning.
			if kern, err := f.Kern(&b, before, glyph, size, xfont.HintingNone); err == nil {
				pt.X += vg.Length(kern) * unit
			}
		}
		before = glyph
		segments, err := f.LoadGlyph(&b, glyph, size, nil)
		must(err, r)
		for n, s := range segments {
			a := s.Args
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if n > 0 {
					path.Close()
				}
				path.Move(at(a[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(at(a[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(at(a[0]), at(a[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(at(a[0]), at(a[1]), at(a[2]))
			}
		}
		if len(segments) > 0 {
			path.Close()
		}
		advance, err := f.GlyphAdvance(&b, glyph, size, xfont.HintingNone)
		must(err, r)
		pt.X += vg.Length(advance) * unit
	}
	if len(path) > 0 {
		c.Fill(path)
	}
}

// must panics: the font is part of the program.
func must(err error, r rune) {
	if err != nil {
		panic(fmt.Sprintf("charts: letter %q: %v", r, err))
	}
}
