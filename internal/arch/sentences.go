package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// speechless are the packages that decide with codes and fields. internal/engine/explain holds their
// sentences.
var speechless = []string{ //nolint:gochecknoglobals // constant table
	"internal/engine/access", "internal/engine/admission", "internal/engine/after", "internal/engine/audit", "internal/engine/backlog",
	"internal/engine/batch", "internal/engine/carry", "internal/engine/fleet", "internal/engine/forecast", "internal/engine/instant",
	"internal/engine/needs", "internal/engine/notify", "internal/engine/ranked", "internal/engine/reboot", "internal/engine/retry",
	"internal/engine/run/...", "internal/engine/ticks", "internal/engine/values", "internal/engine/window", "internal/seaweedfs/plan",
}

// verbs are those of fmt. proseWord is a word of prose, absent in a code and in a layout of a time.
var (
	verbs     = regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]`)
	proseWord = regexp.MustCompile(`^[("]*[A-Za-z]+[),.:;"]*$`)
)

func sentenceRules() []Rule {
	return []Rule{{
		Name: "no-sentences", Source: "docs/architecture.md", Find: sentences,
		Fix: "decide a code with fields and write its sentence in internal/engine/explain; what refuses faulty input may be an error",
	}}
}

// sentences finds texts of several words, except in errors.
func sentences(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if !matches(p.Rel, speechless) {
			continue
		}
		for _, f := range p.code() {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					return !makesError(n)
				case *ast.Field:
					return n.Tag == nil
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isSentence(text) {
						found = append(found, fmt.Sprintf("%s says %q", f.at(p, n.Pos()), text))
					}
				}
				return true
			})
		}
	}
	return found
}

func makesError(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "panic"
	case *ast.SelectorExpr:
		from, ok := f.X.(*ast.Ident)
		return ok && (from.Name == "fmt" && f.Sel.Name == "Errorf" || from.Name == "errors" && f.Sel.Name == "New")
	}
	return false
}

func isSentence(text string) bool {
	words := 0
	for word := range strings.FieldsSeq(verbs.ReplaceAllString(text, "")) {
		if proseWord.MatchString(word) {
			words++
		}
	}
	return words >= 2
}
