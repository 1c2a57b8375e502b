package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a rule for the whole repository.
type Rule struct {
	// Name identifies the rule in messages and tests.
	Name string
	// Source is the document with the rule and its reason.
	Source string
	// Fix is the remedy of a violation.
	Fix string
	// Find returns one line per violation, beginning with its place.
	Find func(Repo) []string
}

// Sources of rules.
const (
	layoutSection = `docs/architecture.md, "Floors"`
	styleSection  = "CONTRIBUTING.md, \"Style\""
	decisions     = "docs/adr/0002-dependencies.md"
)

// Violation is one violation of a rule.
type Violation struct {
	Rule  Rule
	Found string
}

// Rules returns all rules of the house.
func Rules() []Rule {
	return slices.Concat(floorRules(), importRules(), layoutRules(), callRules(), orderRules(), wordRules(), proseRules(), sentenceRules(), elapsedRules(), dependencyRules(), partRules(), governedRules())
}

// Check applies rules to a repository, in the order of the rules.
func Check(repo Repo, rules []Rule) []Violation {
	var violations []Violation
	for _, rule := range rules {
		for _, found := range rule.Find(repo) {
			violations = append(violations, Violation{Rule: rule, Found: found})
		}
	}
	return violations
}

// Report lists each broken rule once, with its source, every place and the remedy.
func Report(violations []Violation) string {
	var report strings.Builder
	rule := ""
	for _, v := range violations {
		if v.Rule.Name != rule {
			rule = v.Rule.Name
			fmt.Fprintf(&report, "\nrule %s (%s)\n  what to do: %s\n", rule, v.Rule.Source, v.Rule.Fix)
		}
		fmt.Fprintf(&report, "    %s\n", v.Found)
	}
	return report.String()
}
