package dispatch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"strings"
	"text/template"
)

// lengths are the slices whose lengths are arguments of kernels, by function and argument; n is the
// length of x otherwise. Kernels that count whole vectors, or blocks of 8 elements, get the length
// over that of a vector.
var lengths = map[string]string{
	"decayOuter.rows": "a",
	"expRows.n":       "sums",
	"outer.rows":      "a",
	"peakRows.n":      "peaks",
	"pick.count":      "dst",
	"sumRows.n":       "y",
	"sumRows.rows":    "b",
}

// wrapper is the function that runs the kernel of the tier, or the reference.
type wrapper struct {
	Name, Types, Parameters, Result string
	Chosen                          string // what it switches on
	Cases                           []struct{ Label, Call string }
	Reference                       string // the call
}

func writeWrappers(b *bytes.Buffer, pkg string, references []*ast.FuncDecl, machines []tierKernels) error {
	typed := len(machines) > 0 && machines[0].Size > 0
	if typed {
		b.WriteString("const (\n")
		for _, m := range machines {
			fmt.Fprintf(b, "f%s = kernel(2*simd.%s + %d)\n", m.Name[1:], m.Tier, m.Size/8)
		}
		b.WriteString(")\n")
	}
	var all []wrapper
	for _, f := range references {
		w := wrapper{Name: strings.TrimSuffix(f.Name.Name, "Reference"), Chosen: "tier"}
		switch {
		case !typed && pkg != "scan": // whose kernels do not all want the same of a processor
		case typed:
			w.Chosen = "kernelOf[T]()"
		case strings.HasPrefix(w.Name, "products"), strings.HasPrefix(w.Name, "listed"), strings.HasPrefix(w.Name, "sums"), w.Name == "weigh":
			w.Chosen = "tierOfProducts()"
		}
		if f.Type.TypeParams != nil {
			w.Types = "[T Float]"
		}
		call := "%s(%s)"
		if f.Type.Results != nil {
			w.Result = text(f.Type.Results.List[0].Type)
			call = "return " + call
		}
		params, order := parameters(f.Type)
		for _, p := range order {
			w.Parameters += p + " " + params[p] + ", "
		}
		w.Reference = fmt.Sprintf(call, f.Name.Name, strings.Join(order, ", "))
		if w.Result == "T" {
			call = "return T(%s(%s))"
		}
		for _, m := range machines {
			label := "simd." + m.Tier
			if typed {
				label = "f" + m.Name[1:]
			}
			var calls []string
			for _, variant := range []string{"", "1", "2", "4", "5", "6", "8"} {
				name, m := w.Name+variant, m
				if typed && m.Tier == "AVX512" && !m.Has(name) {
					m = m.AVX2() // whose kernel is as fast
				}
				stub := m.stubs[name+m.Name]
				if stub == nil {
					continue
				}
				arguments := strings.Join(m.arguments(w.Name, stub, params, order), ", ")
				run := fmt.Sprintf(call, name+m.Name, arguments)
				// The kernels wideX take processors without products of bytes.
				if wide := "wide" + strings.ToUpper(name[:1]) + name[1:]; m.Has(wide) {
					run = fmt.Sprintf("if byteProducts {\n%s\n} else {\n%s\n}", run, fmt.Sprintf(call, wide+m.Name, arguments))
				}
				if variant != "" {
					run = "case " + variant + ":\n" + run
				}
				calls = append(calls, run)
			}
			// The last parameter of a reference chooses among kernels whose names end in numbers.
			run := strings.Join(calls, "\n")
			if strings.HasPrefix(run, "case ") {
				run = fmt.Sprintf("switch %s {\n%s\n}", order[len(order)-1], run)
			}
			if run != "" {
				w.Cases = append(w.Cases, struct{ Label, Call string }{label, run})
			}
		}
		all = append(all, w)
	}
	return template.Must(template.ParseFS(tables, "wrappers.tmpl")).Execute(b, all)
}

func text(e ast.Expr) string { return types.ExprString(e) }

func parameters(f *ast.FuncType) (kinds map[string]string, names []string) {
	kinds = make(map[string]string)
	for _, field := range f.Params.List {
		for _, name := range field.Names {
			kinds[name.Name] = text(field.Type)
			names = append(names, name.Name)
		}
	}
	return kinds, names
}

// arguments returns what a wrapper with parameters in this order passes to a kernel: a pointer for
// each slice in turn, and all else by name.
func (m tierKernels) arguments(name string, stub *ast.FuncType, params map[string]string, order []string) (list []string) {
	kinds, names := parameters(stub)
	var slices []string
	for _, p := range order {
		if strings.HasPrefix(params[p], "[]") {
			slices = append(slices, p)
		}
	}
	for _, a := range names {
		switch _, ok := params[a]; {
		case kinds[a][0] == '*':
			if params[slices[0]] == "[]T" {
				list = append(list, fmt.Sprintf("p%d(%s)", 8*m.Size, slices[0]))
			} else {
				list = append(list, "&"+slices[0]+"[0]")
			}
			slices = slices[1:]
		case !ok:
			list = append(list, m.length(name, a))
		case params[a] == "T":
			list = append(list, m.T()+"("+a+")")
		default:
			list = append(list, a)
		}
	}
	return list
}

// length returns the value of a length that a kernel wants.
func (m tierKernels) length(name, argument string) string {
	of, ok := lengths[strings.TrimRight(name, "1248")+"."+argument]
	switch {
	case !ok:
		of = "x"
	case argument == "count" && m.Tier == "NEON":
		return "len(" + of + ")/8"
	case argument == "count":
		return fmt.Sprintf("len(%s)/%d", of, m.Lanes())
	}
	return "len(" + of + ")"
}
