package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// FlagSort is --sort of the commands that list.
const FlagSort = "sort"

// SortField is a key to sort the rows of a list.
type SortField[T any] struct {
	Name string
	// compare is negative if a precedes b. down reverses the order, but rows without a value stay last.
	compare func(a, b T, down bool) int
}

// By sorts by a number or a text; texts are compared byte by byte.
func By[T any, K cmp.Ordered](name string, of func(T) K) SortField[T] {
	return SortField[T]{Name: name, compare: func(a, b T, down bool) int { return turned(cmp.Compare(of(a), of(b)), down) }}
}

// ByTime sorts by a time, the earliest first. Rows without one come last.
func ByTime[T any](name string, of func(T) time.Time) SortField[T] {
	return SortField[T]{Name: name, compare: func(a, b T, down bool) int {
		x, y := of(a), of(b)
		switch {
		case x.IsZero() && y.IsZero():
			return 0
		case x.IsZero():
			return 1
		case y.IsZero():
			return -1
		}
		return turned(x.Compare(y), down)
	}}
}

func turned(order int, down bool) int {
	if down {
		return -order
	}
	return order
}

// Sorting holds the sort keys of a list.
type Sorting[T any] []SortField[T]

// SortFlag is --sort, with the fields that it takes.
type SortFlag struct {
	*cli.StringFlag

	Fields []string
}

// Flag is --sort. A field that the list does not have is a fault of usage.
func (s Sorting[T]) Flag() cli.Flag {
	fields := Names(s, func(f SortField[T]) string { return f.Name })
	return &SortFlag{Fields: fields, StringFlag: &cli.StringFlag{
		Name:  FlagSort,
		Usage: "sort by `FIELD,...`; -FIELD turns the order around",
		Action: func(_ *cli.Context, written string) error {
			for _, field := range SplitList(written) {
				name := strings.TrimPrefix(field, "-")
				if slices.Contains(fields, name) {
					continue
				}
				if meant := suggest.Word(name, fields); meant != "" {
					return Usagef("--sort %s: did you mean %s? It must be one of %s", field, meant, strings.Join(fields, ", "))
				}
				return Usagef("--sort %s: must be one of %s", field, strings.Join(fields, ", "))
			}
			return nil
		},
	}}
}

// Sort sorts rows in place by --sort. Equal rows keep their order.
func (s Sorting[T]) Sort(ctx *cli.Context, rows []T) {
	var orders []func(a, b T) int
	for _, field := range SplitList(ctx.String(FlagSort)) {
		name, down := strings.CutPrefix(field, "-")
		for _, known := range s {
			if known.Name == name {
				orders = append(orders, func(a, b T) int { return known.compare(a, b, down) })
			}
		}
	}
	if len(orders) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b T) int {
		for _, order := range orders {
			if is := order(a, b); is != 0 {
				return is
			}
		}
		return 0
	})
}

// More notes, after a table, the number of rows beyond --limit.
func (c *Program) More(listed, all int) {
	if listed < all {
		c.Remark("%d of %d; see more with --limit", listed, all)
	}
}
