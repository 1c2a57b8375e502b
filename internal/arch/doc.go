// Package arch holds the rules of the house beyond the compiler: floors and imports, sizes, dependencies, and the words
// of comments. Each file has the table of one kind of rule, applied to the packages from `go list`. [Load] reads the
// repository and [Check] applies rules to it, so a test can pass an invented repository.
package arch
