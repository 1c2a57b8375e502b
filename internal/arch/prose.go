package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// maxProse bounds the clauses, and the verbs of speech, of a package per 100 comment lines. A small package may
// have one of each.
const maxProse = 2

// clause and speech match words that hide a noun, or the verb of a data flow.
var (
	clause = regexp.MustCompile(`(?i)\b(what|whatever|whoever|nobody|everybody|that which|of which|of those|be it|but for)\b`)
	speech = regexp.MustCompile(`(?i)\b(tells?|told|says?|said|asks?|asked|hears?|heard|speaks?|knows?|knew)\b`)
)

type proseCount struct{ clauses, speech int }

func proseRules() []Rule {
	return []Rule{{
		Name: "plain-english", Source: "docs/glossary.md, \"Texts\"", Find: wordyComments,
		Fix: "write a noun instead of a clause (what, of which, nobody), and return, report, request, query or read instead of say, tell, ask or know",
	}}
}

func wordyComments(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		lines, count := p.prose()
		for _, one := range []struct {
			pattern string
			n       int
		}{{"clauses", count.clauses}, {"verbs of speech", count.speech}} {
			if allowed := max(maxProse*lines/100, 1); one.n > allowed {
				found = append(found, fmt.Sprintf("%s: %d %s in %d comment lines; at most %d are allowed", p.Rel, one.n, one.pattern, lines, allowed))
			}
		}
	}
	return found
}

// Tests count, directives and generated files do not.
func (p Package) prose() (lines int, count proseCount) {
	for _, f := range p.Files {
		if ast.IsGenerated(f.AST) {
			continue
		}
		for _, group := range f.AST.Comments {
			for line := range strings.SplitSeq(group.Text(), "\n") {
				if strings.TrimSpace(line) == "" {
					continue
				}
				lines++
				if clause.MatchString(line) {
					count.clauses++
				}
				if speech.MatchString(line) {
					count.speech++
				}
			}
		}
	}
	return lines, count
}
