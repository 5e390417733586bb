package randfeat_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateAPI = flag.Bool("update-api", false, "write the exported declarations of all packages to folder api")

// TestAPI: folder api has a file with the exported declarations of each public package, so that a
// commit shows their changes. After a change write the files again: go test -run TestAPI
// -update-api .
func TestAPI(t *testing.T) {
	want := make(map[string]string)
	for _, folder := range publicPackages(t) {
		if folder == "" {
			continue
		}
		want[filepath.Join("api", strings.ReplaceAll(folder, "/", ".")+".txt")] = exported(t, folder)
	}
	if *updateAPI {
		require.NoError(t, os.RemoveAll("api"))
		require.NoError(t, os.Mkdir("api", 0o755))
		for path, text := range want {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	files, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	for _, path := range files {
		assert.Contains(t, want, path, "a package")
	}
	for path, text := range want {
		is, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(is), text, "%s; after a change: go test -run TestAPI -update-api .", path)
	}
}

// exported returns the exported declarations of the package in a folder, sorted by name, without
// comments and bodies. Methods of exported types follow their type.
func exported(t *testing.T, folder string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	set := token.NewFileSet()
	var all [][2]string // name and text
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.FileExports(file)
		for _, d := range file.Decls {
			for _, part := range parts(d) {
				all = append(all, [2]string{part.name, declaration(t, set, part.Decl)})
			}
		}
	}
	slices.SortFunc(all, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var text strings.Builder
	for _, d := range all {
		text.WriteString(d[1] + "\n")
	}
	return text.String()
}

// part is a declaration with the name to sort it by.
type part struct {
	ast.Decl
	name string
}

// parts divides a declaration into independent declarations. Constants stay together, because their
// values may depend on the constants before.
func parts(d ast.Decl) []part {
	if f, ok := d.(*ast.FuncDecl); ok {
		f.Body = nil
		if f.Recv == nil {
			return []part{{f, f.Name.Name}}
		}
		of := receiver(f.Recv.List[0].Type)
		if !ast.IsExported(of) {
			return nil
		}
		return []part{{f, of + "." + f.Name.Name}}
	}
	g := d.(*ast.GenDecl)
	var all []part
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			all = append(all, part{&ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{s}}, s.Name.Name})
		case *ast.ValueSpec:
			if g.Tok == token.CONST {
				return []part{{g, s.Names[0].Name}}
			}
			if s.Type != nil {
				s.Values = nil
			}
			all = append(all, part{&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{s}}, s.Names[0].Name})
		}
	}
	return all
}

// receiver returns the name of the type of a receiver.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	default:
		return x.(*ast.Ident).Name
	}
}

// blank matches the empty lines that removed comments between fields leave.
var blank = regexp.MustCompile(`\n\s*\n`)

// declaration returns the text of a declaration, as gofmt writes it.
func declaration(t *testing.T, set *token.FileSet, d ast.Decl) string {
	t.Helper()
	var text bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	require.NoError(t, config.Fprint(&text, set, d))
	return blank.ReplaceAllString(text.String(), "\n")
}
