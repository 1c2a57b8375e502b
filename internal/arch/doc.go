// Package arch holds the rules of the house beyond the compiler: allowed imports, sizes of files,
// package comments, reasons for dependencies, plain English. The rules are tables (imports.go,
// layout.go, dependencies.go). A test applies them to the packages from `go list`, so new packages
// need no entry.
//
// Load reads the repository, Check applies rules to it. Both are plain functions, so a test can pass
// an invented repository to Check and see each rule fail.
package arch
