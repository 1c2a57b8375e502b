package scrub

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// exclusion matches globs. One without a slash matches a name at any depth, one with a slash the whole path, where **
// stands for any number of directories.
type exclusion struct {
	names []string
	paths [][]string
}

func newExclusion(globs []string) (exclusion, error) {
	var e exclusion
	var faults []error
	for i, glob := range globs {
		trimmed := strings.Trim(glob, "/")
		if trimmed == "" {
			faults = append(faults, fmt.Errorf("params.exclude[%d]: %q matches nothing", i, glob))
			continue
		}
		parts := strings.Split(trimmed, "/")
		for _, part := range parts {
			if _, err := path.Match(part, "x"); err != nil {
				faults = append(faults, fmt.Errorf("params.exclude[%d]: %q is no glob: %w", i, glob, err))
			}
		}
		if len(parts) == 1 && !strings.HasPrefix(glob, "/") && parts[0] != "**" {
			e.names = append(e.names, parts[0])
		} else {
			e.paths = append(e.paths, parts)
		}
	}
	return e, errors.Join(faults...)
}

// matches takes a path below root with slashes.
func (e exclusion) matches(relative string) bool {
	name := path.Base(relative)
	for _, glob := range e.names {
		if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	if len(e.paths) == 0 {
		return false
	}
	parts := strings.Split(relative, "/")
	return slices.ContainsFunc(e.paths, func(glob []string) bool { return matchParts(glob, parts) })
}

func matchParts(glob, parts []string) bool {
	for i, pattern := range glob {
		if pattern == "**" {
			for skip := i; skip <= len(parts); skip++ {
				if matchParts(glob[i+1:], parts[skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(parts) {
			return false
		}
		if ok, _ := path.Match(pattern, parts[i]); !ok {
			return false
		}
	}
	return len(glob) == len(parts)
}
