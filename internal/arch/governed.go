package arch

import (
	"regexp"
	"slices"
)

// ungoverned are the packages that follow no recorded decision.
var ungoverned = []string{ //nolint:gochecknoglobals // constant table
	".", "bench/...", "cmd/...", "examples/...", "internal/doctor",
	"internal/engine/duration", "internal/engine/forecast", "internal/engine/instant", "internal/engine/reboot", "internal/engine/ticks",
	"internal/lib/buildinfo", "internal/lib/commandlint", "internal/lib/delta", "internal/lib/gotemplate", "internal/lib/lists", "internal/lib/mask",
	"internal/lib/override", "internal/lib/plainfile", "internal/lib/suggest", "internal/lib/tail", "workflows",
}

// governed is a row of docs/adr/README.md: the file of a record, and its packages, which are quoted.
var (
	governed = regexp.MustCompile(`(?m)^\| \[\d{4}\]\((\d{4}-[a-z0-9-]+\.md)\) \|.*\| (.*) \|$`)
	quoted   = regexp.MustCompile("`([^`]+)`")
)

func governedRules() []Rule {
	return []Rule{{
		Name: "governed-packages", Source: "docs/adr/README.md", Find: ungovernedPackages,
		Fix: "add the package to the row of the record that governs it, or to the list in internal/arch/governed.go",
	}}
}

func ungovernedPackages(repo Repo) []string {
	patterns := slices.Clone(ungoverned)
	for _, row := range governed.FindAllStringSubmatch(repo.Decisions, -1) {
		for _, path := range quoted.FindAllStringSubmatch(row[2], -1) {
			patterns = append(patterns, path[1]+"/...")
		}
	}
	var found []string
	for _, p := range repo.Packages {
		// Only tests invent a repository without decisions.
		if repo.Decisions != "" && len(p.code()) > 0 && !matches(p.Rel, patterns) {
			found = append(found, p.Rel+": no record governs it")
		}
	}
	return found
}
