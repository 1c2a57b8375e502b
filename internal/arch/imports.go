package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// files selects the files of a package for a rule.
type files int

const (
	// inCode selects product files; tests may import more.
	inCode files = iota
	inTests
	inBoth
)

type importRule struct {
	name          string
	in            files
	scope, except []string
	// own lists the directories of this repository that may be imported, besides the package's own
	// tree; nil leaves it to the floors. foreign lists other modules.
	own, foreign []string
	// deny overrides all other fields.
	deny []string
	fix  string
}

// noWorld are the standard packages that reach outside the process or vary between runs. Decisions and
// workflows must not import them.
var noWorld = []string{ //nolint:gochecknoglobals // constant table
	"context", "crypto/rand", "database/sql/...", "io/fs", "log/...", "math/rand/...", "net/...", "os/...",
	"plugin", "runtime/...", "syscall/...",
}

// noThreads are the tools of goroutines: workflow coroutines are cooperative. A pure package may use
// sync.Once for a lazy value; it starts no goroutine (see calls.go).
var noThreads = []string{"sync/..."} //nolint:gochecknoglobals // constant table

var pure = []string{"dag", "dag/internal/graph", "dag/internal/wire", "internal/engine/..."} //nolint:gochecknoglobals // constant table

// everything is the scope of rules for the whole repository.
var everything = []string{".", "./..."} //nolint:gochecknoglobals // constant table

// importTable lists the rules beyond the floors: the standard packages and foreign modules that a room
// may import, and the lower rooms that it may not.
func importTable() []importRule {
	return slices.Concat(coreImports(), edgeImports(), everywhereImports())
}

func coreImports() []importRule {
	return []importRule{
		{
			name: "pure-packages", scope: pure,
			own: []string{"contract", "jobtype", "dag", "dag/internal/...", "dag/spec", "internal/engine/...", "internal/lib/gotemplate", "internal/lib/lists", "internal/lib/pack", "internal/lib/suggest"}, foreign: []string{}, deny: noWorld,
			fix: "pass data (an event, a time, a limit) and return a decision for the caller to carry out",
		},
		{
			name: "pure-packages-tests", scope: pure, in: inTests,
			own:     append([]string{"contract", "jobtype/...", "dag/...", "internal/lib/pack"}, pure...),
			foreign: []string{"github.com/stretchr/testify/...", "pgregory.net/rapid", "go.uber.org/goleak"},
			deny:    []string{"net/...", "os/exec"},
			fix:     "a pure package is tested with values; a test that needs a server belongs to workflows or testsuite",
		},
		{
			name: "seaweedfs-decisions", scope: []string{"internal/seaweedfs/plan", "internal/seaweedfs/steps"},
			own: []string{"jobtype", "internal/lib/lists"}, foreign: []string{}, deny: slices.Concat(noWorld, noThreads),
			fix: "plan and steps decide from values; internal/seaweedfs/weed observes and calls",
		},
		{
			name: "dag-spec", scope: []string{"dag/spec/..."},
			own: []string{"contract", "dag", "jobtype", "internal/lib/bash", "internal/lib/commandlint", "internal/lib/gotemplate", "internal/lib/launch", "internal/lib/lists", "internal/lib/runview", "internal/lib/suggest", "internal/lib/yamlread"}, foreign: []string{"go.yaml.in/yaml/v3"}, deny: noWorld,
			fix: "dag/spec turns YAML into a graph and back; its caller reads files",
		},
		{
			name: "workflows", scope: []string{"workflows/..."},
			own: []string{"contract", "jobtype", "dag/...", "internal/engine/...", "internal/lib/pack", "workflows/callopts", "workflows/entity", "workflows/recorder", "workflows/run"},
			foreign: []string{
				"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/converter", "go.temporal.io/sdk/interceptor",
				"go.temporal.io/sdk/log", "go.temporal.io/api/...", "go.uber.org/fx",
			},
			deny: slices.Concat(noWorld, noThreads),
			fix:  "get the decision from internal/engine, call activities by their contract name, take time from workflow.Now",
		},
		{
			name: "contract", scope: []string{"contract/..."},
			foreign: []string{"go.temporal.io/sdk/temporal", "go.temporal.io/api/..."},
			deny:    slices.Concat(noWorld, noThreads),
			fix:     "contract holds names, data and errors; move behaviour to the package that performs it",
		},
		{
			name: "jobtype", scope: []string{"jobtype/..."}, except: []string{"jobtype/jobtypetest/..."},
			foreign: []string{},
			fix:     "authors of handlers depend on jobtype alone: standard library only, nothing of Temporal",
		},
		{
			name: "jobtypetest", scope: []string{"jobtype/jobtypetest/..."},
			foreign: []string{"github.com/santhosh-tekuri/jsonschema/v6"},
			fix:     "authors of handlers test with jobtypetest, the standard library and the schema compiler",
		},
	}
}

func edgeImports() []importRule {
	noSDK := []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/activity", "go.temporal.io/sdk/worker"}
	noRunning := []string{Module + "/activities/...", Module + "/workflows/..."}
	return []importRule{
		{
			name: "activities", scope: []string{"activities/..."},
			own:  []string{"contract", "jobtype", "dag/...", "activities/*/...", "activities/command", "internal/engine/...", "internal/temporal/...", "internal/seaweedfs/...", "internal/lib/..."},
			deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/worker"},
			fix:  "an activity knows its own outside system, and starts programs by command.Runner (ADR 64); share through contract and jobtype, connect in internal/app",
		},
		{
			// ADR 62.
			name: "handler-packs", scope: []string{"activities/command", "activities/scrub", "activities/seaweedfs"},
			own:  []string{"jobtype", "activities/*/...", "activities/command", "internal/seaweedfs/...", "internal/lib/..."},
			deny: []string{"go.temporal.io/..."},
			fix:  "a handler pack implements jobtype.Handler with jobtype alone, like any author's handler",
		},
		{
			name: "starter", scope: []string{"starter/..."}, deny: slices.Concat(noSDK, noRunning),
			fix: "the starter speaks contract through sdk/client and names workflows by their contract name",
		},
		{
			name: "doctor", scope: []string{"internal/doctor"}, deny: slices.Concat(noSDK, noRunning),
			fix: "doctor looks at the server and at the answers of the starter; changes belong to the starter",
		},
		{
			name: "config", scope: []string{"config/..."}, deny: []string{"go.temporal.io/...", Module + "/internal/temporal/..."},
			fix: "config turns YAML into the data of contract and jobtype",
		},
		{
			name: "gateway", scope: []string{"internal/edge/gateway/..."},
			deny: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/worker", Module + "/workers/...", Module + "/workflows/...", Module + "/config/..."},
			fix:  "a gateway translates between a worker's protocol and Temporal's activity API; rules of running a job stand in activities/jobs",
		},
		{
			name: "api", scope: []string{"internal/edge/api/...", "internal/edge/feed/...", "internal/edge/console/..."},
			foreign: []string{"github.com/danielgtaylor/huma/v2/...", "github.com/coreos/go-oidc/v3/...", "golang.org/x/oauth2/...", "golang.org/x/sync/...", "golang.org/x/time/rate", "google.golang.org/grpc/...", "go.temporal.io/api/..."},
			deny:    append([]string{"go.temporal.io/sdk/...", Module + "/workers/..."}, noRunning...),
			fix:     "the API calls starter, which alone reaches Temporal; other packages add operations by api.Options.Extra",
		},
		{
			name: "cli", scope: []string{"internal/cli/..."},
			deny: append([]string{Module + "/workers/...", Module + "/internal/edge/api/..."}, noRunning...),
			fix:  "a command parses, calls internal/app or starter, and prints; the work happens there",
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
	}
}

func everywhereImports() []importRule {
	nothing := []string{"cmd/...", "bench/...", "examples/..."}
	return []importRule{
		{
			name: "fx-at-the-root", scope: everything, in: inBoth,
			except: []string{"internal/app/..."},
			deny:   []string{"go.uber.org/fx/...", "go.uber.org/dig/..."},
			fix:    "write a plain constructor and provide it in internal/app",
		},
		{
			name: "no-embedded-server", scope: everything, except: []string{"devserver/..."}, in: inBoth,
			deny: append([]string{Module + "/devserver/..."}, serverModules...),
			fix:  "only the nested module devserver/ embeds the server; talk to roundsman-devserver over gRPC",
		},
		{
			name: "testsuite-in-tests", scope: everything, except: []string{"testsuite/...", "bench/...", "examples/seaweedfs/..."},
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
			name: "kept-modules", scope: everything, in: inBoth,
			deny: []string{"gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "github.com/pkg/errors", "io/ioutil"},
			fix:  "use go.yaml.in/yaml/v3 (the maintained continuation), errors with %w, io and os",
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
			if !r.in.bind(f) {
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

func matchesRel(rel string, patterns []string) bool {
	return slices.Contains(patterns, "./...") || matches(rel, patterns)
}

func (r importRule) allows(from, imported string) bool {
	if matches(imported, r.deny) {
		return false
	}
	if rel, ok := own(imported); ok {
		return r.own == nil || within(from, rel) || matches(rel, bind(r.own, from))
	}
	return standard(imported) || r.foreign == nil || matches(imported, r.foreign)
}

// A test in package x_test imports x itself.
func within(from, imported string) bool {
	return imported == from || from != "." && strings.HasPrefix(imported, from+"/")
}

// bind replaces "*" in "activities/*/..." by the importing package's own element.
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
