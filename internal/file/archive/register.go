package archive

import (
	"fmt"
	"reflect"
)

// Made is a value that Write writes as its recipe.
type Made interface {
	// Recipe returns a value of a type that Register knows, or an error if the value has no recipe.
	Recipe() (any, error)
}

// kind is a type of recipes of an interface.
type kind struct {
	name string
	of   reflect.Type
	make func(recipe any) (any, error)
}

// kinds are the kinds of each interface type.
var kinds = map[reflect.Type][]kind{}

// Register adds kinds of the interface I: the types of the values of recipes, by name. make returns
// the value of I that a recipe describes, or an error for an invalid recipe. Packages call Register
// in their initialisation.
func Register[I any](recipes map[string]any, make func(recipe any) (I, error)) {
	i := reflect.TypeFor[I]()
	for name, recipe := range recipes {
		t := reflect.TypeOf(recipe)
		if known := lookup(i, func(k kind) bool { return k.name == name || k.of == t }); known != nil {
			panic(fmt.Sprintf("archive: %s and %s are kinds of %v of one name or type", name, known.name, i))
		}
		kinds[i] = append(kinds[i], kind{name: name, of: t, make: func(recipe any) (any, error) { return make(recipe) }})
	}
}

// Named returns the values by the names of their types, for Register.
func Named(values ...any) map[string]any {
	named := make(map[string]any)
	for _, v := range values {
		named[reflect.TypeOf(v).Name()] = v
	}
	return named
}

// recipes return the recipes of values that are not Made, by the types of the values.
var recipes = map[reflect.Type]func(v any) (any, error){}

// RegisterRecipe adds a function that returns the recipe of a V. It serves a V that is not Made
// because Recipe is not a method for users. Packages call RegisterRecipe in their initialisation.
func RegisterRecipe[V any](recipe func(v V) (any, error)) {
	recipes[reflect.TypeFor[V]()] = func(v any) (any, error) { return recipe(v.(V)) }
}

// recipeOf returns the recipe of v, or v itself if v has no recipe.
func recipeOf(v any) (any, error) {
	if made, ok := v.(Made); ok {
		return made.Recipe()
	}
	if recipe := recipes[reflect.TypeOf(v)]; recipe != nil {
		return recipe(v)
	}
	return v, nil
}

// Names returns the names of the kinds of the interface I.
func Names[I any]() []string {
	var names []string
	for _, k := range kinds[reflect.TypeFor[I]()] {
		names = append(names, k.name)
	}
	return names
}

// lookup returns the first kind of the interface type i that fits, or nil.
func lookup(i reflect.Type, fits func(k kind) bool) *kind {
	for _, k := range kinds[i] {
		if fits(k) {
			return &k
		}
	}
	return nil
}
