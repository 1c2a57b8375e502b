// Package refs finds the run or item of a reference on a server; package ref reads references.
package refs
