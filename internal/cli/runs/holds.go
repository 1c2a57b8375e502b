package runs

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func checkKey(jobType, key string) error {
	if err := contract.ValidateHeldName(jobType); err != nil {
		return ui.Faulty(err)
	}
	if key == "" || len(key) > jobtype.MaxDedupeKeyBytes {
		return ui.Usagef("KEY %q: a dedupe key has 1 to %d bytes; `roundsman jobs RUN` shows them", ui.Shorten(key, 40), jobtype.MaxDedupeKeyBytes)
	}
	return nil
}

// WhatIsHeld names a job type, one of its keys, or a task of a DAG.
func WhatIsHeld(jobType, key string) string {
	if _, task := contract.DAGOfTasks(jobType); key == "" || task {
		return contract.HeldName(jobType, key)
	}
	return fmt.Sprintf("key %s of %s", ui.Shorten(key, 80), jobType)
}

// Forgive forgets the failures of a dedupe key, and its mark as done.
func Forgive(p *ui.Program, ctx *cli.Context, client *starter.Client, jobType, key string) error {
	if err := checkKey(jobType, key); err != nil {
		return err
	}
	result, err := client.Admission().Forgive(ctx.Context, jobType, key)
	if err != nil {
		return err
	}
	was := ui.Plural(result.Failures, "failure") + " forgotten"
	if result.Before != nil {
		was = "it was " + result.Before.String()
	}
	return p.Done(ctx, result, "%s is forgiven: %s", WhatIsHeld(jobType, key), was)
}

// FlagFor is how long a key is left out.
const FlagFor = "for"

// MarkDone leaves proposals with the key out for a time, or until it is forgiven. A job of it that waits in a running group
// ends as canceled; one that runs continues. Marking again replaces the time.
func MarkDone(p *ui.Program, ctx *cli.Context, client *starter.Client, jobType, key string) error {
	if err := checkKey(jobType, key); err != nil {
		return err
	}
	lasts, err := ui.ParseDuration(ctx.String(FlagFor))
	if err != nil || lasts < time.Second || lasts > 365*24*time.Hour {
		return ui.Usagef("--for %s: write 1s to 365d, like 24h or 7d", ctx.String(FlagFor))
	}
	result, err := client.Admission().MarkDone(ctx.Context, jobType, key, lasts)
	if err != nil {
		return err
	}
	until := p.Env.Now().Add(lasts)
	if result.After != nil {
		until = result.After.Until
	}
	return p.Done(ctx, result, "%s is left out until %s", WhatIsHeld(jobType, key), ui.Stamp(until))
}

func (c *commands) showHeldBack(snapshot starter.Snapshot) {
	var held []contract.AdmissionHold
	switch {
	case snapshot.Result != nil:
		held = snapshot.Result.HeldBack
	case snapshot.Group != nil:
		held = snapshot.Group.HeldBack
	}
	if len(held) == 0 {
		return
	}
	listed := ui.NewTable("LEFT OUT", "UNTIL", "WHY")
	for _, hold := range held {
		listed.Add(ui.Text(hold.DedupeKey), ui.Text(ui.Stamp(hold.Until)), ui.Text(hold.String()))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "")
}
