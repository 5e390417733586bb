// Package registry knows the recipes of values with files: structs of exported fields from which
// the values can be made again. Package archive writes and reads recipes. This package links
// nothing of files, so a program that uses a type with a recipe links no file format.
package registry

import (
	"fmt"
	"reflect"
)

// Made is a value that package archive writes as its recipe.
type Made interface {
	// Recipe returns a value of a type that Register knows, or an error if the value has no recipe.
	Recipe() (any, error)
}

type Kind struct {
	Name string
	Of   reflect.Type
	Make func(recipe any) (any, error)
}

var kinds = map[reflect.Type][]Kind{}

// Register adds kinds of the interface or pointer I: the types of the values of recipes, by name.
// make returns the value of I that a recipe describes, or an error for an invalid recipe. Packages
// call Register in their initialisation.
func Register[I any](recipes map[string]any, make func(recipe any) (I, error)) {
	i := reflect.TypeFor[I]()
	for name, recipe := range recipes {
		t := reflect.TypeOf(recipe)
		if known := Lookup(i, func(k Kind) bool { return k.Name == name || k.Of == t }); known != nil {
			panic(fmt.Sprintf("registry: %s and %s are kinds of %v of one name or type", name, known.Name, i))
		}
		kinds[i] = append(kinds[i], Kind{Name: name, Of: t, Make: func(recipe any) (any, error) { return make(recipe) }})
	}
}

func Named(values ...any) map[string]any {
	named := make(map[string]any)
	for _, v := range values {
		named[reflect.TypeOf(v).Name()] = v
	}
	return named
}

var recipes = map[reflect.Type]func(v any) (any, error){}

// RegisterFunc adds a function that returns the recipe of a V. It serves a V that is not Made
// because Recipe is not a method for users. Packages call RegisterFunc in their initialisation.
func RegisterFunc[V any](recipe func(v V) (any, error)) {
	recipes[reflect.TypeFor[V]()] = func(v any) (any, error) { return recipe(v.(V)) }
}

// Of returns the recipe of v, or v itself if v has no recipe.
func Of(v any) (any, error) {
	if made, ok := v.(Made); ok {
		return made.Recipe()
	}
	if recipe := recipes[reflect.TypeOf(v)]; recipe != nil {
		return recipe(v)
	}
	return v, nil
}

func Names[I any]() []string {
	var names []string
	for _, k := range kinds[reflect.TypeFor[I]()] {
		names = append(names, k.Name)
	}
	return names
}

// Lookup returns the first kind of the interface or pointer type i that fits, or nil.
func Lookup(i reflect.Type, fits func(k Kind) bool) *Kind {
	for _, k := range kinds[i] {
		if fits(k) {
			return &k
		}
	}
	return nil
}
