package randfeat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page is a Markdown file.
type page struct {
	path   string // from the root, with slashes
	prose  []string
	blocks []block
}

// block is the text between two fences.
type block struct {
	kind  []string // the words after the fence: go, sh, text; example, peer
	lines []string
}

func (b block) text() string { return strings.Join(b.lines, "\n") + "\n" }

func (b block) is(kind ...string) bool { return slices.Equal(b.kind, kind) }

// pages returns all Markdown files, including those of nested modules.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, ok := parsePage(filepath.ToSlash(path), string(data))
		assert.True(t, ok, "%s: a fence is open at the end", path)
		all = append(all, p)
		return nil
	}))
	return all
}

func parsePage(path, text string) (p page, closed bool) {
	p.path = path
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fence, ok := strings.CutPrefix(line, "```")
		switch {
		case ok && !open:
			p.blocks = append(p.blocks, block{kind: strings.Fields(fence)})
			open = true
		case ok:
			open = false
		case open:
			b := &p.blocks[len(p.blocks)-1]
			b.lines = append(b.lines, line)
		default:
			p.prose = append(p.prose, line)
		}
	}
	return p, !open
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// links returns the targets of the links and pictures of a page.
func (p page) links() []string {
	var all []string
	for _, line := range p.prose {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// anchors returns the anchors that GitHub gives to the headings.
func (p page) anchors() []string {
	var all []string
	for _, line := range p.prose {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !strings.HasPrefix(line, "#") || !ok {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ' || r == '-':
				b.WriteByte('-')
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}

// broken returns the links of a page whose file or heading does not exist. It only parses links to
// other sites.
func (p page) broken(all []page) []string {
	var bad []string
	for _, target := range p.links() {
		if rest, ok := strings.CutPrefix(target, "https://"); ok {
			if host, _, _ := strings.Cut(rest, "/"); !strings.Contains(host, ".") {
				bad = append(bad, target)
			}
			continue
		}
		file, anchor, anchored := strings.Cut(target, "#")
		to := p.path
		if file != "" {
			to = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), filepath.FromSlash(file)))
		}
		if _, err := os.Stat(filepath.FromSlash(to)); err != nil || strings.HasPrefix(to, "..") {
			bad = append(bad, target)
			continue
		}
		i := slices.IndexFunc(all, func(q page) bool { return q.path == to })
		if anchored && (i < 0 || !slices.Contains(all[i].anchors(), anchor)) {
			bad = append(bad, target)
		}
	}
	return bad
}

// TestLinks: every link of every page leads to an existing file or heading.
func TestLinks(t *testing.T) {
	all := pages(t)
	require.Greater(t, len(all), 10)
	for _, p := range all {
		assert.Empty(t, p.broken(all), p.path)
	}
}

// TestBrokenLinks: broken finds links to missing files and headings.
func TestBrokenLinks(t *testing.T) {
	p, _ := parsePage("docs/maps.md", "# One two, `three`\n[a](../README.md) [b](#one-two-three) [c](none.md) [d](#four) ![e](https://nowhere)\n"+
		"[f](../BENCHMARKS.md#one) [g](../BENCHMARKS.md#two) [h](../../x)\n```go\n[i](none)\n```\n")
	q, _ := parsePage("BENCHMARKS.md", "# One\n```\n# Two\n```\n")
	assert.Equal(t, []string{"none.md", "#four", "https://nowhere", "../BENCHMARKS.md#two", "../../x"}, p.broken([]page{p, q}))
	_, closed := parsePage("x.md", "```\n")
	assert.False(t, closed)
}

// TestReadmeIsOneScreen: the README is short, and links to pages with more.
func TestReadmeIsOneScreen(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 70)
	files, err := os.ReadDir("docs")
	require.NoError(t, err)
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".md" {
			assert.Contains(t, string(text), "(docs/"+f.Name()+")")
		}
	}
}

// TestPackagesPage: the page of packages has a row for each public package.
func TestPackagesPage(t *testing.T) {
	text, err := os.ReadFile("docs/packages.md")
	require.NoError(t, err)
	for _, name := range publicPackages(t) {
		if name != "" {
			assert.Contains(t, string(text), "\n| [`"+name+"`](../"+name)
		}
	}
}

// TestPlatformsPage: the page lists a kernel for a platform if and only if the kernel has assembly
// for the platform.
func TestPlatformsPage(t *testing.T) {
	text, err := os.ReadFile("docs/platforms.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\|[^|]*\\| `([a-z]+)`: [^|]*\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|[^|]*\\|$")
	seen := make(map[string]bool)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for i, arch := range []string{"amd64", "amd64", "arm64"} {
			if strings.TrimSpace(m[2+i]) == "yes" {
				path := filepath.Join("internal", "compute", m[1], m[1]+"_"+arch+".s")
				assert.FileExists(t, path)
				seen[filepath.ToSlash(path)] = true
			}
		}
	}
	assembly, err := filepath.Glob("internal/compute/*/*.s")
	require.NoError(t, err)
	for _, path := range assembly {
		assert.True(t, seen[filepath.ToSlash(path)], "%s is on the page", path)
	}
}
