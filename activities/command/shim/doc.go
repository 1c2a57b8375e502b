// Package shim is the process between a worker and one program. A program that links this package is a shim if its
// first argument is [Argument].
//
// A shim starts for each program, so it begins before the packages that take a program the most time to initialize:
// Go initializes packages by import path, each after its imports. This package imports little, and nothing of Temporal.
package shim

import "os"

func init() { //nolint:gochecknoinits // main is after the initialization of all packages
	if len(os.Args) > 1 && os.Args[1] == Argument {
		os.Exit(run()) //nolint:forbidigo // the process is nothing else
	}
}
