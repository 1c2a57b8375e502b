// Package arch holds the rules of the house beyond the compiler. The rules are tables (imports.go, layout.go,
// dependencies.go), applied to the packages from `go list`. Load reads the repository, Check applies rules to it, so
// a test can pass an invented repository.
package arch
