// Package arch holds the rules of the house that a compiler does not know: who
// may import whom, how big a file may grow, that every package says what it is
// for and every dependency why it was chosen. The rules are tables (imports.go,
// layout.go, dependencies.go); a test applies them to what `go list` finds, so a
// package added tomorrow is judged without anybody listing it here.
//
// Load reads the repository, Check applies rules to it. Both are plain
// functions, so that a test can hand Check an invented repository and see each
// rule fail.
package arch
