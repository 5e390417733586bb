package archive

import (
	"fmt"
	"reflect"
)

// Made is a value that is written as what it was made of.
type Made interface {
	// Recipe returns a value of a type that Register was told of, or an error that says why there
	// is none.
	Recipe() (any, error)
}

// kind is a type that is known as a value of an interface.
type kind struct {
	name string
	of   reflect.Type
	make func(recipe any) (any, error)
}

// kinds are the known types of each interface type.
var kinds = map[reflect.Type][]kind{}

// Register makes types known as values of the interface I, each by its name: the types of the
// values of recipes. make returns the value of I that a recipe makes, or an error if what the
// recipe holds does not fit. Register is called while packages are initialised.
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

// recipes return those of values that are not Made, by the types of the values.
var recipes = map[reflect.Type]func(v any) (any, error){}

// RegisterRecipe makes known how a V is written that is not Made, because its methods are those of users.
// It is called while packages are initialised.
func RegisterRecipe[V any](recipe func(v V) (any, error)) {
	recipes[reflect.TypeFor[V]()] = func(v any) (any, error) { return recipe(v.(V)) }
}

// recipeOf returns what v is written as.
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

// lookup returns the kind of the interface type i that fits, nil if there is none.
func lookup(i reflect.Type, fits func(k kind) bool) *kind {
	for _, k := range kinds[i] {
		if fits(k) {
			return &k
		}
	}
	return nil
}
