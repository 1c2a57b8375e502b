package ui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/starter"
)

// SortedKeys are the keys of a map in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// minInterval: a look is several requests to the server.
const minInterval = 100 * time.Millisecond

// IntervalFlag is --interval of the commands that watch.
func IntervalFlag() cli.Flag {
	return &cli.DurationFlag{Name: FlagInterval, Usage: "look every `DURATION`", Value: starter.DefaultWatchInterval}
}

// CheckInterval refuses an interval below minInterval.
func CheckInterval(ctx *cli.Context) error {
	if interval := ctx.Duration(FlagInterval); interval < minInterval {
		return Usagef("--interval %s: must be at least %s", interval, minInterval)
	}
	return nil
}
