package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// job is one go test.
type job struct {
	step, dir       string
	packages, flags []string
	// again runs a failed test once more, alone.
	again bool
	// apart matches tests with independent subtests: only the failed ones run again.
	apart *regexp.Regexp
}

// plan orders the packages: of each module those without the race detector and those with it, and at the end the end-to-end packages.
func plan(ctx context.Context, o options) ([]job, error) {
	ends, err := regexp.Compile(o.ends)
	if err != nil {
		return nil, err
	}
	var apart *regexp.Regexp
	if o.apart != "" {
		if apart, err = regexp.Compile(o.apart); err != nil {
			return nil, err
		}
	}
	var endToEnd, units []job
	for _, module := range o.modules {
		packages, err := list(ctx, o.goCommand, module, o.packages...)
		if err != nil {
			return nil, err
		}
		racing := map[string]string{}
		if o.race && !slices.Contains(o.withoutRace, module) {
			all, err := list(ctx, o.goCommand, module, "./...")
			if err != nil {
				return nil, err
			}
			if racing, err = racy(all); err != nil {
				return nil, err
			}
		}
		var slow, races, pure []string
		for _, p := range packages {
			switch {
			case o.ends != "" && ends.MatchString(p.ImportPath):
				slow = append(slow, p.ImportPath)
			case racing[p.ImportPath] != "" && !slices.ContainsFunc(o.withoutRace, func(end string) bool { return strings.HasSuffix(p.ImportPath, "/"+end) }):
				races = append(races, p.ImportPath)
			default:
				pure = append(pure, p.ImportPath)
			}
		}
		name := ""
		if module != "." {
			name = " of " + module
		}
		endToEnd = o.add(endToEnd, job{step: "test: end to end" + name, dir: module, packages: slow, flags: o.endsFlags, again: true, apart: apart})
		units = o.add(units, job{step: "test: units" + name, dir: module, packages: pure, flags: o.unitFlags})
		units = o.add(units, job{step: "test: units" + name + " that can race", dir: module, packages: races, flags: append([]string{"-race"}, o.unitFlags...)})
	}
	return append(units, endToEnd...), nil
}

// add adds a job with all flags and its slowest packages first, unless it has no package.
func (o options) add(jobs []job, j job) []job {
	if len(j.packages) == 0 {
		return jobs
	}
	first := strings.Fields(o.slowest)
	rank := func(path string) int {
		if i := slices.IndexFunc(first, func(end string) bool { return strings.HasSuffix(path, "/"+end) }); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(j.packages, func(a, b string) int { return rank(a) - rank(b) })
	j.flags = slices.Concat(j.flags, o.flags)
	return append(jobs, j)
}
