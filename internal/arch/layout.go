package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Sizes. Most of the house is far below; above them a review refuses.
const (
	// A code file should have 80–250 lines; golangci-lint warns above 400.
	maxFileLines     = 600
	maxTestFileLines = 1000
	// Above 2,000 lines check whether a package decides more than one thing; above this it does.
	// Comments and tests do not count.
	maxPackageCodeLines = 3500
	maxMainLines        = 25
	// A larger interface has fewer implementations.
	maxInterfaceMethods = 3
)

var wideInterfaces = map[string]string{} //nolint:gochecknoglobals // constant table

// vagueNames do not describe their content.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared", "base"} //nolint:gochecknoglobals // constant table

func layoutRules() []Rule {
	return []Rule{
		{
			Name: "package-doc", Source: styleSection, Find: packagesWithoutDoc,
			Fix: `write doc.go with "// Package x …": what it is for, what it promises, what it leaves to others`,
		},
		{
			Name: "vague-names", Source: styleSection, Find: vague,
			Fix: "name files and packages after their role: graph.go, calls.go, versions.go",
		},
		{
			Name: "file-size", Source: styleSection, Find: longFiles,
			Fix: fmt.Sprintf("split by decision; the bounds are %d lines, %d for tests", maxFileLines, maxTestFileLines),
		},
		{
			Name: "package-size", Source: styleSection, Find: bigPackages,
			Fix: fmt.Sprintf("split by decision; the bound is %d lines of code without comments and tests", maxPackageCodeLines),
		},
		{
			Name: "main-size", Source: layoutSection, Find: longMains,
			Fix: fmt.Sprintf("keep main.go within %d lines: it hands over at once", maxMainLines),
		},
		{
			Name: "interface-size", Source: styleSection, Find: wide,
			Fix: fmt.Sprintf("define interfaces of at most %d methods where they are used, or add an exception with its reason to internal/arch/layout.go", maxInterfaceMethods),
		},
	}
}

// packagesWithoutDoc accepts the comment in a test file only for a package of tests.
func packagesWithoutDoc(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		files := p.code()
		if len(files) == 0 {
			files = p.Files
		}
		if len(files) > 0 && !slices.ContainsFunc(files, func(f File) bool { return packageDoc(f.AST) }) {
			found = append(found, fmt.Sprintf("%s: package %s has no package comment", p.Rel, p.Name))
		}
	}
	return found
}

func vague(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if slices.Contains(vagueNames, p.Name) {
			found = append(found, fmt.Sprintf("%s: a package named %s", p.Rel, p.Name))
		}
		for _, f := range p.Files {
			role := strings.TrimSuffix(strings.TrimSuffix(f.Name, ".go"), "_test")
			if slices.Contains(vagueNames, role) {
				found = append(found, fmt.Sprintf("%s: a file named %s", p.file(f), role))
			}
		}
	}
	return found
}

func longFiles(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.Files {
			limit := maxFileLines
			if f.Test() {
				limit = maxTestFileLines
			}
			if f.Lines > limit && !ast.IsGenerated(f.AST) {
				found = append(found, fmt.Sprintf("%s: %d lines", p.file(f), f.Lines))
			}
		}
	}
	return found
}

func bigPackages(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		lines := 0
		for _, f := range p.code() {
			if !ast.IsGenerated(f.AST) {
				lines += f.CodeLines
			}
		}
		if lines > maxPackageCodeLines {
			found = append(found, fmt.Sprintf("%s: %d lines of code", p.Rel, lines))
		}
	}
	return found
}

func longMains(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.code() {
			if p.Name == "main" && f.Name == "main.go" && f.Lines > maxMainLines && strings.Contains("/"+p.Rel, "/cmd/") {
				found = append(found, fmt.Sprintf("%s: %d lines", p.file(f), f.Lines))
			}
		}
	}
	return found
}

// An embedded interface counts as one, because it was judged where it was declared.
func wide(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.code() {
			if ast.IsGenerated(f.AST) {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				iface, ok := spec.Type.(*ast.InterfaceType)
				if !ok || iface.Methods.NumFields() <= maxInterfaceMethods {
					return true
				}
				if _, excepted := wideInterfaces[p.Rel+"."+spec.Name.Name]; !excepted {
					found = append(found, fmt.Sprintf("%s: interface %s has %d methods", f.at(p, spec.Pos()), spec.Name.Name, iface.Methods.NumFields()))
				}
				return true
			})
		}
	}
	return found
}
