package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/jobtype"
)

// SplitList reads a,b,c; blanks around the commas do not matter.
func SplitList(written string) []string {
	var list []string
	for item := range strings.SplitSeq(written, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// SortedKeys are the keys of a map in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Plural is "1 job type", "2 job types".
func Plural(n int, what string) string {
	return fmt.Sprintf("%d %s%s", n, what, cmp.Or(map[bool]string{n != 1: "s"}[true], ""))
}

// WorkerIDs reads --workers, the ids of the workers to run.
func WorkerIDs(ctx *cli.Context) ([]string, error) {
	written := ctx.String("workers")
	for id := range strings.SplitSeq(written, ",") {
		if err := jobtype.ValidateName(strings.TrimSpace(id)); err != nil {
			return nil, Usagef("--workers: %w", err)
		}
	}
	return SplitList(written), nil
}
