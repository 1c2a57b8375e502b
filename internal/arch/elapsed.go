package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

func elapsedRules() []Rule {
	return []Rule{{
		Name: "no-timed-assertion", Source: styleSection, Find: timedAssertions,
		Fix: "bound the work by a count (calls, nodes, bytes, testing.AllocsPerRun) or compare the order of two events (WithinRange); bench/ measures time",
	}}
}

// An upper bound of an elapsed time fails on a busy machine. A lower one is a fair demand.
var elapsedArgument = map[string]int{ //nolint:gochecknoglobals // constant table
	"Less": 1, "Lessf": 1, "LessOrEqual": 1, "LessOrEqualf": 1, "InDelta": 2, "InDeltaf": 2, "InEpsilon": 2, "InEpsilonf": 2,
	"Greater": 2, "Greaterf": 2, "GreaterOrEqual": 2, "GreaterOrEqualf": 2,
}

// isTimed reports whether the assertion bounds the wall clock: by an elapsed time, or by the distance to now.
func isTimed(name string, args []ast.Expr, elapsed func(ast.Node) bool) bool {
	if strings.HasPrefix(name, "WithinDuration") {
		return slices.ContainsFunc(args, func(arg ast.Expr) bool { return mentions(arg, "time", "Now") })
	}
	at, bounds := elapsedArgument[name]
	return bounds && len(args) > at && elapsed(args[at])
}

// Functions with a simulated clock (testing/synctest) may compare its times.
func timedAssertions(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.Files {
			for _, declared := range f.AST.Decls {
				if fn, ok := declared.(*ast.FuncDecl); ok && f.Test() && fn.Body != nil && !mentions(fn.Body, "synctest", "") {
					found = append(found, timedIn(f, p, fn.Body)...)
				}
			}
		}
	}
	return found
}

func timedIn(f File, p Package, body *ast.BlockStmt) []string {
	var found []string
	elapsed := map[string]bool{}
	timed := func(n ast.Node) bool { return mentions(n, "time", "Since") || uses(n, elapsed) }
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok && mentions(value, "time", "Since") {
					elapsed[name.Name] = true
				}
			}
		case *ast.CallExpr:
			from, name := selected(n.Fun)
			if (from == "assert" || from == "require") && isTimed(name, n.Args, timed) {
				found = append(found, fmt.Sprintf("%s asserts on an elapsed time", f.at(p, n.Pos())))
			}
		case *ast.IfStmt:
			begun := n.Init != nil && mentions(n.Init, "time", "Since")
			if (begun || timed(n.Cond)) && fails(n.Body) {
				found = append(found, fmt.Sprintf("%s fails for an elapsed time", f.at(p, n.Pos())))
			}
		}
		return true
	})
	return found
}

func selected(n ast.Expr) (from, name string) {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name, s.Sel.Name
		}
	}
	return "", ""
}

// mentions reports whether n contains from.name; an empty name stands for any.
func mentions(n ast.Node, from, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			x, sel := selected(e)
			found = found || x == from && (name == "" || sel == name)
		}
		return !found
	})
	return found
}

func uses(n ast.Node, names map[string]bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || names[id.Name]
		}
		return !found
	})
	return found
}

func fails(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, name := selected(call.Fun)
			found = found || strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Error") || strings.HasPrefix(name, "Fail")
		}
		return !found
	})
	return found
}
