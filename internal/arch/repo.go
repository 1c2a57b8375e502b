package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the root module.
const Module = "github.com/roundsman/roundsman"

// Repo is the input of the rules.
type Repo struct {
	Packages []Package
	// Modules are the go.mod files, the root's first.
	Modules []GoMod
	// RootDeps are the import paths of all direct and indirect dependencies of the root module's
	// packages and tests.
	RootDeps []string
	// Decisions is the text of all files in docs/adr.
	Decisions string
}

// Package is one directory of Go code.
type Package struct {
	// Rel is the directory relative to the repository, "." for the root.
	Rel   string
	Name  string
	Files []File
}

// File is one Go file, for any platform.
type File struct {
	// Name is relative to the package, e.g. "module.go".
	Name string
	AST  *ast.File
	Fset *token.FileSet
	// Lines counts every line; CodeLines leaves out blank ones and comments.
	Lines     int
	CodeLines int
}

// GoMod is the part of a go.mod that the rules need.
type GoMod struct {
	// Rel is the module's directory relative to the repository.
	Rel string
	// Requires are all required module paths, Direct those without "// indirect".
	Requires []string
	Direct   []string
}

// Test reports whether the file belongs to a test binary only.
func (f File) Test() bool { return strings.HasSuffix(f.Name, "_test.go") }

// Imports returns the file's import paths.
func (f File) Imports() []string {
	paths := make([]string, 0, len(f.AST.Imports))
	for _, spec := range f.AST.Imports {
		// The parser accepted the literal, so it unquotes.
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// at returns "internal/x/y.go:12", which editors link.
func (f File) at(p Package, pos token.Pos) string {
	return fmt.Sprintf("%s:%d", p.file(f), f.Fset.Position(pos).Line)
}

func (p Package) file(f File) string { return join(p.Rel, f.Name) }

func (p Package) code() []File {
	return slices.DeleteFunc(slices.Clone(p.Files), File.Test)
}

func own(path string) (rel string, ok bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

// standard reports whether an import path is of the standard library, whose first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func join(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}

// A pattern is a path, or "path/..." for the path and everything below.
func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, tree := strings.CutSuffix(pattern, "/...")
		return path == prefix || tree && strings.HasPrefix(path, prefix+"/")
	})
}
