// Package graph is the immutable graph of package dag, how it is declared, and its
// canonical encoding.
package graph
