package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// replayed is all code that runs inside a workflow: workflows, decisions and their data.
var replayed = append([]string{"workflows/...", "contract/...", "jobtype", "dag/..."}, pure...) //nolint:gochecknoglobals // constant table

func orderRules() []Rule {
	return []Rule{{
		Name: "sorted-keys", Source: "docs/determinism.md", Find: unsortedKeys,
		Fix: "write slices.Sorted(maps.Keys(m)): the order of a map differs from one replay to the next",
	}}
}

// unsortedKeys completes workflowcheck, which accepts maps.Keys and maps.Values: here only as the direct argument of
// slices.Sorted….
func unsortedKeys(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if !matches(p.Rel, replayed) {
			continue
		}
		for _, f := range p.code() {
			sorted := map[ast.Node]bool{}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if strings.HasPrefix(qualified(call), "slices.Sorted") && len(call.Args) > 0 {
					sorted[call.Args[0]] = true
				}
				if name := qualified(call); !sorted[call] && slices.Contains([]string{"maps.Keys", "maps.Values"}, name) {
					found = append(found, fmt.Sprintf("%s leaks the order of a map through %s", f.at(p, call.Pos()), name))
				}
				return true
			})
		}
	}
	return found
}

func qualified(call *ast.CallExpr) string {
	fun := call.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	selector, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	ident, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return ident.Name + "." + selector.Sel.Name
}
