package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

type skippedRuns struct {
	JobType string        `json:"job_type"`
	Code    contract.Code `json:"code"`
	// Runs counts them. Last is the newest, with its reason.
	Runs   int       `json:"runs"`
	Last   string    `json:"last_workflow_id"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// skippedSince reads the newest runs that were skipped, hand-started ones too, with their reasons.
func skippedSince(ctx context.Context, client *starter.Client, since time.Time) ([]skippedRuns, error) {
	listed, err := client.Runs().List(ctx, starter.RunFilter{Outcomes: []contract.Outcome{contract.OutcomeSkipped}, Since: since, Limit: statusRuns})
	if err != nil {
		return []skippedRuns{}, err
	}
	each := make([]skippedRuns, len(listed))
	var asking errgroup.Group
	asking.SetLimit(8)
	for i, run := range listed {
		each[i] = skippedRuns{JobType: run.JobType, Runs: 1, Last: run.WorkflowID, At: cmp.Or(run.Ended, run.Started)}
		asking.Go(func() error {
			if snapshot, err := client.Runs().Show(ctx, run.RunRef); err == nil && snapshot.Result != nil {
				each[i].Code, each[i].Reason = snapshot.Result.Code, snapshot.Result.Reason
			}
			return nil
		})
	}
	_ = asking.Wait() // A run without an answer has no code.
	return grouped(each), nil
}

func grouped(each []skippedRuns) []skippedRuns {
	all := []skippedRuns{}
	for _, one := range each {
		at := slices.IndexFunc(all, func(s skippedRuns) bool { return s.JobType == one.JobType && s.Code == one.Code })
		switch {
		case at < 0:
			all = append(all, one)
		case all[at].At.Before(one.At):
			one.Runs += all[at].Runs
			all[at] = one
		default:
			all[at].Runs += one.Runs
		}
	}
	return all
}

func addPools(ctx context.Context, client *starter.Client, due []dueRun, types []jobtypes.JobType) {
	takes := slices.ContainsFunc(types, func(t jobtypes.JobType) bool { return len(t.Spec.JobResources) > 0 })
	if !takes {
		return
	}
	usage, err := client.Admission().Usage(ctx)
	if err != nil {
		return // The request for the lanes has reported the fault.
	}
	for i := range due {
		at := slices.IndexFunc(types, func(t jobtypes.JobType) bool { return t.Name == due[i].JobType })
		if at < 0 || due[i].Skipped != "" || due[i].Waits != "" {
			continue
		}
		due[i].Waits = shortPool(types[at].Spec.JobResources, usage.Pools)
	}
}

// shortPool names the first pool with less free than one job takes; "" if none.
func shortPool(takes map[string]int, pools []contract.PoolUsage) string {
	for _, name := range slices.Sorted(maps.Keys(takes)) {
		at := slices.IndexFunc(pools, func(p contract.PoolUsage) bool { return p.Name == name })
		if at >= 0 && pools[at].Size-pools[at].Used < min(takes[name], pools[at].Size) {
			return fmt.Sprintf("%s %s, %d of %d free", contract.CodeResources, name, max(pools[at].Size-pools[at].Used, 0), pools[at].Size)
		}
	}
	return ""
}

func (c *commands) printSkipped(found status, now time.Time) {
	if len(found.Skipped) == 0 {
		return
	}
	c.Print("")
	since := "YESTERDAY"
	if found.HandOver {
		since = ui.Stamp(found.Since)
	}
	skipped := ui.NewTable("SKIPPED SINCE "+since, "RUNS", "LAST", "CODE", "REASON")
	for _, s := range found.Skipped {
		skipped.Add(ui.Text(cmp.Or(s.JobType, s.Last)), ui.Textf("%d", s.Runs), ui.Text(ui.Ago(s.At, now)),
			ui.Cell{Text: string(s.Code), Paint: ui.Odd}, ui.Cell{Text: strings.TrimLeft(strings.TrimPrefix(s.Reason, string(s.Code)), ": "), Cause: true})
	}
	c.PrintTable(skipped, "")
}
