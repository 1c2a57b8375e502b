package arch

import (
	"fmt"
	"slices"
	"strings"
)

// serverModules belong only in devserver/: some 325 modules and a binary of 82 MB that no node needs.
var serverModules = []string{"go.temporal.io/server/...", "github.com/temporalio/ui-server/..."} //nolint:gochecknoglobals // constant table

func dependencyRules() []Rule {
	return []Rule{
		{
			Name: "root-without-server", Source: layoutSection, Find: serverInRoot,
			Fix: "find the way in with `go mod why -m` and move that import to devserver/",
		},
		{
			Name: "dependency-decisions", Source: decisions, Find: undecided,
			Fix: "give the module a row (its path in backticks) in " + decisions + ": what for, why this one, what else was looked at",
		},
	}
}

func serverInRoot(repo Repo) []string {
	var found []string
	for _, mod := range repo.Modules {
		if mod.Rel != "." {
			continue
		}
		for _, path := range mod.Requires {
			if matches(path, serverModules) {
				found = append(found, fmt.Sprintf("go.mod requires %s", path))
			}
		}
	}
	for _, path := range repo.RootDeps {
		if matches(path, serverModules) {
			found = append(found, fmt.Sprintf("go list -deps -test ./... reaches %s", path))
		}
	}
	return found
}

// undecided checks the modules of the product; an example is another program.
func undecided(repo Repo) []string {
	var found []string
	for _, mod := range repo.Modules {
		if matches(mod.Rel, []string{"examples/..."}) {
			continue
		}
		for _, path := range mod.Direct {
			if path != Module && !decided(repo.Decisions, path) {
				found = append(found, fmt.Sprintf("%s requires %s", join(mod.Rel, "go.mod"), path))
			}
		}
	}
	slices.Sort(found)
	return found
}

// decided requires the exact path: a decision about x/v2 does not cover x.
func decided(text, path string) bool {
	return strings.Contains(text, "`"+path+"`")
}
