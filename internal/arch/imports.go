package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// files says which files of a package a rule binds.
type files int

const (
	// inCode are the files that end up in a binary; tests may reach for more.
	inCode files = iota
	inTests
	inBoth
)

// importRule says what the packages in scope may import.
type importRule struct {
	name string
	in   files
	// scope and except are patterns of directories, exceptFiles of base names.
	scope, except []string
	exceptFiles   []string
	// own lists the directories of this repository that may be imported, besides
	// the package's own tree; nil allows all. foreign does so for other modules.
	own, foreign []string
	// deny wins over everything.
	deny []string
	fix  string
}

// leaf in a list of directories stands for every package below internal that is
// no layer: it serves the layers (a codec, a cron parser) and knows none of them.
const leaf = "{leaf}"

// layers are the packages below internal with a rule of their own.
var layers = append([]string{"internal/app/...", "internal/cli/...", "internal/arch/...", "internal/run/...", "internal/gateway/...", "internal/doctor", "internal/api/...", "internal/live/...", "internal/console/..."}, pure...) //nolint:gochecknoglobals // constant table

// noWorld are the standard packages that reach outside the process, or differ
// from one run to the next. Neither decisions nor workflows may know them.
var noWorld = []string{ //nolint:gochecknoglobals // constant table
	"context", "crypto/rand", "database/sql/...", "io/fs", "log/...", "math/rand/...", "net/...", "os/...",
	"plugin", "runtime/...", "syscall/...",
}

// noThreads are the tools of goroutines: workflow coroutines are cooperative.
// A pure package may use sync.Once for a value computed late; it starts no
// goroutine (see calls.go).
var noThreads = []string{"sync/..."} //nolint:gochecknoglobals // constant table

// pure are the packages that decide.
var pure = []string{"dag", "internal/run", "internal/run/group", "internal/admission/...", "internal/fleet/...", "internal/window", "internal/audit", "internal/forecast", "internal/ledger", "internal/pace", "internal/access", "internal/notify"} //nolint:gochecknoglobals // constant table

// everything is the scope of rules for the whole repository.
var everything = []string{".", "./..."} //nolint:gochecknoglobals // constant table

// importTable repeats the direction of imports: cmd → cli → app → {workers,
// starter, config}; workers → {workflows, activities}; workflows → pure.
func importTable() []importRule {
	return slices.Concat(coreImports(), edgeImports(), doorImports(), everywhereImports())
}

// coreImports bind what decides and what travels.
func coreImports() []importRule {
	return []importRule{
		{
			name: "pure-packages", scope: pure,
			own: []string{"internal/admission", "internal/fleet", "contract", "jobtype", "internal/run", "internal/window"}, foreign: []string{}, deny: noWorld,
			fix: "pass what is needed as data (an event, a time, a limit) and return a decision for the caller to carry out",
		},
		{
			name: "pure-packages-tests", scope: pure, in: inTests,
			own:     append([]string{"contract", "jobtype/...", "dag/..."}, pure...),
			foreign: []string{"github.com/stretchr/testify/...", "pgregory.net/rapid", "go.uber.org/goleak"},
			deny:    []string{"net/...", "os/exec"},
			fix:     "a pure package is tested with values; what needs a server belongs into workflows or testsuite",
		},
		{
			name: "seaweedfs-decisions", scope: []string{"internal/seaweedfs/plan", "internal/seaweedfs/steps"},
			own: []string{"jobtype"}, foreign: []string{}, deny: slices.Concat(noWorld, noThreads),
			fix: "which volumes need work and which call follows is decided from values; internal/seaweedfs/weed observes and calls",
		},
		{
			name: "dag-spec", scope: []string{"dag/spec/..."},
			own: []string{"dag", "jobtype", "internal/gotemplate", "internal/nearest", "internal/yamlread"}, foreign: []string{"go.yaml.in/yaml/v3"}, deny: noWorld,
			fix: "dag/spec turns YAML into a graph and back; reading files is its caller's work",
		},
		{
			name: "run-graph", scope: []string{"internal/run/graph"},
			own: []string{"contract", "dag", "dag/spec", "jobtype", "internal/run", "internal/nearest"}, foreign: []string{}, deny: noWorld,
			fix: "internal/run/graph decides what a run does next; time and reports enter as data, the workflow carries the decisions out",
		},
		{
			name: "workflows", scope: []string{"workflows/..."},
			own: append([]string{"contract", "jobtype", "dag/...", "workflows/calls", "workflows/entity", "workflows/recorder", "workflows/run", "internal/run/graph", "internal/explain"}, pure...),
			foreign: []string{
				"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/converter", "go.temporal.io/sdk/interceptor",
				"go.temporal.io/sdk/log", "go.temporal.io/api/...", "go.uber.org/fx",
			},
			deny: slices.Concat(noWorld, noThreads),
			fix:  "ask a pure package for the decision, call activities by their contract name, take time from workflow.Now",
		},
		{
			name: "contract", scope: []string{"contract/..."},
			own:     []string{"jobtype", "dag/..."},
			foreign: []string{"go.temporal.io/sdk/temporal", "go.temporal.io/api/..."},
			deny:    slices.Concat(noWorld, noThreads),
			fix:     "contract holds names, data and errors; move behaviour to the package that performs it",
		},
		{
			name: "jobtype", scope: []string{"jobtype/..."}, except: []string{"jobtype/jobtypetest/..."},
			own: []string{}, foreign: []string{},
			fix: "authors of handlers depend on jobtype alone: standard library only, nothing of Temporal, nothing internal",
		},
		{
			name: "jobtypetest", scope: []string{"jobtype/jobtypetest/..."},
			own: []string{"jobtype"}, foreign: []string{"github.com/santhosh-tekuri/jsonschema/v6"},
			fix: "authors of handlers test with jobtypetest, the standard library and the schema compiler; nothing of Temporal, nothing internal",
		},
	}
}

// edgeImports bind what talks to the outside.
func edgeImports() []importRule {
	return []importRule{
		{
			name: "activities", scope: []string{"activities/..."},
			own:  []string{"contract", "jobtype", "dag/...", "activities/*/...", "internal/window", "internal/notify", leaf},
			deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/worker"},
			fix:  "an activity knows its own outside system, contract and jobtype; share through those, wire in workers",
		},
		{
			name: "workers", scope: []string{"workers/..."},
			own: append([]string{"workflows/...", "activities/...", "contract", "jobtype", "dag/...", leaf}, pure...),
			fix: "workers assemble task queues; configuration arrives as Options from internal/app",
		},
		{
			name: "gateway", scope: []string{"internal/gateway/..."},
			own:  []string{"internal/gateway", "internal/api/...", "internal/access", "contract", "jobtype", "activities/jobs", "starter/...", leaf},
			deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/worker"},
			fix:  "a gateway translates between a worker's protocol and Temporal's activity API; rules of running a job stand in activities/jobs",
		},
		{
			name: "starter", scope: []string{"starter/..."},
			own:  []string{"contract", "jobtype", "dag/...", "starter/...", "internal/run/graph", "internal/window", "internal/forecast", "internal/ledger", "internal/pace", leaf},
			deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/activity", "go.temporal.io/sdk/worker"},
			fix:  "the starter speaks contract through sdk/client; internal/app translates configuration",
		},
		{
			name: "doctor", scope: []string{"internal/doctor"},
			own: []string{"starter/...", "contract", "jobtype", leaf}, deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/activity", "go.temporal.io/sdk/worker"},
			fix: "doctor looks at the server and at what the starter finds out; what changes anything belongs there",
		},
		{
			name: "config", scope: []string{"config/..."},
			own: []string{"contract", "jobtype", "dag/...", "internal/window", "internal/access", leaf}, deny: []string{"go.temporal.io/..."},
			fix: "config is a leaf: it turns YAML into contract's and jobtype's data and knows nobody who uses them",
		},
	}
}

// doorImports bind the ways in for people and programs, and what is left below
// internal.
func doorImports() []importRule {
	return []importRule{
		{
			name: "console", scope: []string{"internal/console/..."},
			own: []string{"internal/api", "internal/api/problem", "internal/access", "starter", "starter/calendar", leaf}, foreign: []string{},
			fix: "the console serves files and a few read models; the pages are clients of the API",
		},
		{
			name: "api", scope: []string{"internal/api/...", "internal/live/..."},
			own:     []string{"internal/api/...", "internal/live", "internal/access", "internal/doctor", "starter/...", "config", "contract", "jobtype", "dag/...", "internal/window", leaf},
			foreign: []string{"github.com/danielgtaylor/huma/v2/...", "github.com/coreos/go-oidc/v3/...", "golang.org/x/oauth2/...", "golang.org/x/sync/...", "golang.org/x/time/rate", "google.golang.org/grpc/...", "go.temporal.io/api/..."},
			deny:    []string{"go.temporal.io/sdk/..."},
			fix:     "the API asks starter, which alone speaks to Temporal; other packages add operations by api.Options.Extra",
		},
		{
			name: "cli", scope: []string{"internal/cli/..."},
			own: []string{"internal/cli/...", "internal/app", "internal/doctor", "starter/...", "config", "contract", "jobtype", "dag/...", "examples/quickstart", "internal/window", leaf},
			fix: "a command parses, calls internal/app or starter, and prints; the work happens there",
		},
		{
			name: "public-door", scope: []string{"."},
			own: []string{"internal/cli", "internal/app", "jobtype"}, deny: []string{"go.temporal.io/..."},
			fix: "the root package offers Main to authors of handlers and hides the rest",
		},
		{
			name: "commands", scope: []string{"cmd/..."},
			own: []string{".", "internal/cli"}, foreign: []string{},
			fix: "a main hands over at once: roundsman.Main",
		},
		{
			name: "internal-leaves", scope: []string{"internal/..."},
			except: layers,
			own:    []string{"contract", "jobtype", leaf},
			fix:    "a package below internal serves the layers and imports none of them; if it is a layer, give it a rule in internal/arch/imports.go",
		},
	}
}

// everywhereImports bind the whole repository.
func everywhereImports() []importRule {
	nothing := []string{"cmd/...", "bench/...", "examples/..."}
	return []importRule{
		{
			name: "fx-at-the-root", scope: everything, in: inBoth,
			except: []string{"internal/app/..."}, exceptFiles: []string{"module.go", "module_test.go"},
			deny: []string{"go.uber.org/fx/...", "go.uber.org/dig/..."},
			fix:  "write a plain constructor and provide it in the package's module.go",
		},
		{
			name: "no-embedded-server", scope: everything, except: []string{"devserver/..."}, in: inBoth,
			deny: append([]string{Module + "/devserver/..."}, serverModules...),
			fix:  "only the nested module devserver/ embeds the server; talk to roundsman-devserver over gRPC",
		},
		{
			name: "testsuite-in-tests", scope: everything, except: []string{"testsuite/...", "bench/..."},
			deny: []string{Module + "/testsuite/...", "go.temporal.io/sdk/testsuite", "github.com/stretchr/testify/...", "pgregory.net/rapid"},
			fix:  "testing code stays out of the binary; move it to a _test.go file or to testsuite/",
		},
		{
			name: "nobody-imports-programs", scope: everything, in: inBoth, except: nothing,
			deny: []string{Module + "/cmd/...", Module + "/bench/..."},
			fix:  "move what is shared into a package of its own",
		},
		{
			// `dev` without a configuration runs examples/quickstart, which is a
			// package because go:embed reaches no file outside its own directory.
			name: "nobody-imports-examples", scope: everything, in: inBoth, except: append([]string{"internal/cli/..."}, nothing...),
			deny: []string{Module + "/examples/..."},
			fix:  "examples show how Roundsman is used; move what is shared into a package of its own",
		},
		{
			name: "arch-stands-apart", scope: everything, in: inBoth, except: []string{"internal/arch/..."},
			deny: []string{Module + "/internal/arch/..."},
			fix:  "internal/arch judges the repository and is no part of it",
		},
	}
}

func importRules() []Rule {
	table := importTable()
	rules := make([]Rule, len(table))
	for i, r := range table {
		rules[i] = Rule{Name: r.name, Source: layoutSection, Fix: r.fix, Find: r.find}
	}
	return rules
}

func (r importRule) find(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if !r.binds(p.Rel) {
			continue
		}
		for _, f := range p.Files {
			if !r.in.bind(f) || slices.Contains(r.exceptFiles, f.Name) {
				continue
			}
			for i, imported := range f.Imports() {
				if !r.allows(p.Rel, imported) {
					found = append(found, fmt.Sprintf("%s imports %s", f.at(p, f.AST.Imports[i].Pos()), imported))
				}
			}
		}
	}
	return found
}

func (in files) bind(f File) bool {
	return in == inBoth || f.Test() == (in == inTests)
}

func (r importRule) binds(rel string) bool {
	return matchesRel(rel, r.scope) && !matchesRel(rel, r.except)
}

// matchesRel is matches for directories, where "./..." is the whole repository.
func matchesRel(rel string, patterns []string) bool {
	return slices.Contains(patterns, "./...") || matches(rel, patterns)
}

func (r importRule) allows(from, imported string) bool {
	if matches(imported, r.deny) {
		return false
	}
	if rel, ok := own(imported); ok {
		return r.own == nil || within(from, rel) || matches(rel, bind(r.own, from)) ||
			slices.Contains(r.own, leaf) && isLeaf(rel)
	}
	return standard(imported) || r.foreign == nil || matches(imported, r.foreign)
}

func isLeaf(rel string) bool {
	return strings.HasPrefix(rel, "internal/") && !matches(rel, layers)
}

// within reports whether imported lies in the importing package's own tree; a
// test in package x_test imports x itself.
func within(from, imported string) bool {
	return imported == from || from != "." && strings.HasPrefix(imported, from+"/")
}

// bind replaces "*" in "activities/*/..." by the importing package's own
// element: activities/command may import activities/command/…, not
// activities/scrub.
func bind(patterns []string, from string) []string {
	elements := strings.Split(from, "/")
	bound := make([]string, len(patterns))
	for i, pattern := range patterns {
		parts := strings.Split(pattern, "/")
		if at := slices.Index(parts, "*"); at >= 0 && at < len(elements) {
			parts[at] = elements[at]
		}
		bound[i] = path.Join(parts...)
	}
	return bound
}
