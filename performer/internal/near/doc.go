// Package near joins exact weights of the last keys before a query with weights by features of all
// keys before these.
package near
