package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// stubs are calls whose arguments the compiler cannot check against their activity or child.
var stubs = []string{"ExecuteActivity", "ExecuteLocalActivity", "ExecuteChildWorkflow"} //nolint:gochecknoglobals // constant table

func callRules() []Rule {
	return []Rule{
		{
			Name: "typed-calls", Source: layoutSection, Find: looseCalls,
			Fix: "add a typed stub to workflows/callopts.go and call that: a wrong argument compiles otherwise, and is retried for ever",
		},
		{
			Name: "named-workflows", Source: styleSection, Find: registeredClosures,
			Fix: "register a declared function by its name: workflowcheck sees neither through closures nor through the result of a call",
		},
		{
			Name: "pure-goroutines", Source: layoutSection, Find: goroutines,
			Fix: "a decision is a function of its input: let the caller run things side by side",
		},
		{
			Name: "no-sleep-in-tests", Source: styleSection, Find: sleepingTests,
			Fix: "wait for a condition (require.Eventually) or a signal, or run in a testing/synctest bubble, where the clock is the test's",
		},
	}
}

func goroutines(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if !matches(p.Rel, pure) {
			continue
		}
		for _, f := range p.code() {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if statement, ok := n.(*ast.GoStmt); ok {
					found = append(found, f.at(p, statement.Pos())+" starts a goroutine")
				}
				return true
			})
		}
	}
	return found
}

func sleepingTests(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		testing := matches(p.Rel, []string{"testsuite/...", "jobtype/jobtypetest/..."})
		for _, f := range p.Files {
			if (testing || f.Test()) && !slices.Contains(f.Imports(), "testing/synctest") {
				found = append(found, callsOf(p, f, "time", "Sleep")...)
			}
		}
	}
	return found
}

func callsOf(p Package, f File, qualifier, name string) []string {
	var found []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != name {
			return true
		}
		if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == qualifier {
			found = append(found, fmt.Sprintf("%s uses %s.%s", f.at(p, selector.Pos()), qualifier, name))
		}
		return true
	})
	return found
}

func looseCalls(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if !matches(p.Rel, []string{"workflows/..."}) {
			continue
		}
		for _, f := range p.code() {
			if f.Name == "calls.go" || strings.HasPrefix(f.Name, "calls_") {
				continue
			}
			for _, stub := range stubs {
				found = append(found, callsOf(p, f, "workflow", stub)...)
			}
		}
	}
	return found
}

func registeredClosures(repo Repo) []string {
	return inspectCalls(repo, func(_ Package, _ File, call *ast.CallExpr) string {
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(selector.Sel.Name, "RegisterWorkflow") || len(call.Args) == 0 {
			return ""
		}
		switch call.Args[0].(type) {
		case *ast.FuncLit, *ast.CallExpr:
			return "registers a workflow without a name of its own"
		default:
			return ""
		}
	})
}

// inspectCalls passes every call in product code to a function; a non-empty result is a finding.
func inspectCalls(repo Repo, ask func(Package, File, *ast.CallExpr) string) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.code() {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if answer := ask(p, f, call); answer != "" {
					found = append(found, fmt.Sprintf("%s %s", f.at(p, call.Pos()), answer))
				}
				return true
			})
		}
	}
	return found
}
