// Package files has only tests. They hold every type with a file to the promises of one format: no
// damage passes, and no file makes a reader panic or allocate more than its bytes allow.
package files
