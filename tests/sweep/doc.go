// Package sweep has only tests. They call every exported function and method of the library with
// invalid arguments: counts of 0, −1, 2⁴⁰ and 2⁶², NaN and ±Inf, nil, nil pointers in interfaces,
// zero values, inconsistent matrices, damaged bytes. A call must return, or panic with a text that
// begins with the name of a package, in bounded time and memory. A panic of the runtime, such as an
// index out of range, is a fault.
//
// The results of calls are the arguments and receivers of other calls. The test reads the exported
// names from the source of the library, so that it misses none. It does not call package beam,
// which is another module. TestContexts ends contexts during the calls that take one.
package sweep
