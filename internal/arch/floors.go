package arch

import (
	"fmt"
	"strings"
)

type room struct {
	name     string
	packages []string
}

// building lists the rooms of each floor, the ground floor first.
// docs/architecture.md describes them.
var building = [][]room{ //nolint:gochecknoglobals // constant table
	{{"jobtype", []string{"jobtype/..."}}, {"dag", []string{"dag", "dag/internal/..."}}},
	{{"contract", []string{"contract/..."}}},
	{{"lib", []string{"internal/lib/..."}}},
	{{"dag/spec", []string{"dag/spec/..."}}},
	{{"engine", []string{"internal/engine/..."}}},
	{{"temporal", []string{"internal/temporal/..."}}, {"seaweedfs", []string{"internal/seaweedfs/..."}}},
	{{"workflows", []string{"workflows/..."}}, {"activities", []string{"activities/..."}}, {"config", []string{"config/..."}}},
	{{"starter", []string{"starter/..."}}},
	{{"workers", []string{"workers/..."}}, {"doctor", []string{"internal/doctor/..."}}},
	{{"edge", []string{"internal/edge/..."}}},
	{{"app", []string{"internal/app/..."}}},
	{{"cli", []string{"internal/cli/..."}}},
	{{"door", []string{".", "cmd/..."}}},
}

// outside are the directories next to the building. Tests, measurements and programs may import any
// room; the judge imports none.
var outside = []string{"testsuite/...", "bench/...", "examples/...", "devserver/...", "internal/arch/..."} //nolint:gochecknoglobals // constant table

func floorRules() []Rule {
	return []Rule{
		{
			Name: "floors", Source: layoutSection, Find: upward,
			Fix: "a package imports its own room and lower floors (internal/arch/floors.go): move the shared part down, or pass it in as an argument",
		},
		{
			Name: "no-room", Source: layoutSection, Find: homeless,
			Fix: "place the package in a room of internal/arch/floors.go; below internal/ these are engine, seaweedfs, edge, temporal, lib, cli, app and doctor",
		},
	}
}

func roomOf(rel string) (name string, floor int, ok bool) {
	for floor, rooms := range building {
		for _, r := range rooms {
			if matches(rel, r.packages) {
				return r.name, floor, true
			}
		}
	}
	return "", 0, false
}

func upward(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		from, floor, ok := roomOf(p.Rel)
		if !ok {
			continue
		}
		for _, f := range p.code() {
			for i, imported := range f.Imports() {
				rel, ours := own(imported)
				to, below, known := roomOf(rel)
				if ours && known && to != from && below >= floor {
					found = append(found, fmt.Sprintf("%s: %s imports %s of %s", f.at(p, f.AST.Imports[i].Pos()), from, rel, to))
				}
			}
		}
	}
	return found
}

func homeless(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		if _, _, ok := roomOf(p.Rel); !ok && !matches(p.Rel, outside) && !strings.HasPrefix(p.Rel, "tools") {
			found = append(found, p.Rel+" is in no room")
		}
	}
	return found
}
