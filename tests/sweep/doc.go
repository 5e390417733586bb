// Package sweep has tests alone. They call every exported function and method of the library with
// arguments that no caller should give: counts of 0, −1, 2⁴⁰ and 2⁶², NaN and ±Inf, nil, nil
// pointers in interfaces, zero values, matrices that are no views, damaged bytes. A call returns, or
// panics with a text that begins with the name of a package, in bounded time and memory. A panic of
// the runtime, such as an index out of range, is a fault.
//
// The calls find their arguments themselves: values that calls have returned are arguments and
// receivers of others. What the library exports is read from its source, so that nothing is left
// out. Package beam is a module of its own and is not swept.
package sweep
