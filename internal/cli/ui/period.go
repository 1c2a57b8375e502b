package ui

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"
)

// PeriodFlags are --since and --until of lists of past events.
func PeriodFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "since", Usage: "from `TIME` on, like 12h"},
		&cli.StringFlag{Name: "until", Usage: "until `TIME`"},
	}
}

// Period reads --since and --until. Zero means no bound.
func (c *Program) Period(ctx *cli.Context) (since, until time.Time, err error) {
	var faults []error
	now := c.Env.Now()
	for _, bound := range []struct {
		flag string
		into *time.Time
	}{{"since", &since}, {"until", &until}} {
		if written := ctx.String(bound.flag); written != "" {
			at, err := ParseTime("--"+bound.flag, written, now)
			*bound.into, faults = at, append(faults, err)
		}
	}
	if !until.IsZero() && until.Before(since) {
		faults = append(faults, errors.New("--until is before --since: swap the two times"))
	}
	return since, until, errors.Join(faults...)
}
