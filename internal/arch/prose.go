package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// proseTarget is the budget of a package without an entry in proseBudgets, per 100 comment lines.
const proseTarget = 2

const (
	// minProseLines is the smallest number of comment lines judged: below it one line decides.
	minProseLines = 15
	// A budget stays while fewer than a fifth of its lines, or at most five, are unused.
	proseSlack    = 5
	minProseSlack = 5
)

// clause and speech match words that hide a noun, or the verb of a data flow.
var (
	clause = regexp.MustCompile(`(?i)\b(what|whatever|whoever|nobody|everybody|that which|of which|of those|be it|but for)\b`)
	speech = regexp.MustCompile(`(?i)\b(tells?|told|says?|said|asks?|asked|hears?|heard|speaks?|knows?|knew)\b`)
)

// proseCount holds comment lines that match, in a package or per 100 comment lines.
type proseCount struct{ clauses, speech int }

func proseRules() []Rule {
	return []Rule{{
		Name: "plain-english", Source: "docs/glossary.md, \"Texts\"", Find: wordyComments,
		Fix: "write a noun instead of a clause (what, of which, nobody), and return, report, request, query or read instead of say, tell, ask or know",
	}}
}

// wordyComments compares every package with its budget. A budget far above the count is a
// violation too, so that budgets fall with the counts.
func wordyComments(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		lines, count := p.prose()
		if lines < minProseLines {
			continue
		}
		budget, listed := proseBudgets[p.Rel]
		if !listed {
			budget = proseCount{proseTarget, proseTarget}
		}
		found = append(found, overBudget(p.Rel, "clauses", count.clauses, lines, budget.clauses)...)
		found = append(found, overBudget(p.Rel, "verbs of speech", count.speech, lines, budget.speech)...)
	}
	return found
}

// overBudget returns the violation of one budget, if any. Part of a line counts as a line.
func overBudget(rel, what string, n, lines, budget int) []string {
	rate, allowed := (100*n+lines-1)/lines, (budget*lines+99)/100
	switch {
	case n > allowed:
		return []string{fmt.Sprintf("%s: %d %s in %d comment lines, %d per 100; its budget is %d", rel, n, what, lines, rate, budget)}
	case budget > proseTarget && allowed-n > max(minProseSlack, allowed/proseSlack):
		return []string{fmt.Sprintf("%s: %d %s per 100 comment lines; lower its budget in internal/arch/prose_budgets.go from %d to %d", rel, rate, what, budget, max(proseTarget, rate))}
	}
	return nil
}

// prose counts the comment lines of a package, tests included, and those that match.
// Directives and generated files do not count.
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

// strayBudgets lists budgets of packages that do not exist.
func strayBudgets(repo Repo) []string {
	var stray []string
	for rel := range proseBudgets {
		if !slices.ContainsFunc(repo.Packages, func(p Package) bool { return p.Rel == rel }) {
			stray = append(stray, rel)
		}
	}
	slices.Sort(stray)
	return stray
}
