package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// A crowd of job types without findings, each due every minute. The runs of the first minute do not count.
const (
	tickTypes = 1000
	tickEvery = time.Minute
	tickWatch = 3 * time.Minute
)

// ticks1000 measures whether all ticks of a crowd run, in an open and in an exclusive lane. It also measures the
// times to plan, apply and list the crowd.
func ticks1000(ctx context.Context, b *bench) error {
	for _, lane := range []struct {
		name      string
		exclusive bool
	}{{"open", false}, {"exclusive", true}} {
		if err := ticksOf(ctx, b, lane.name, lane.exclusive); err != nil {
			return fmt.Errorf("%s lane: %w", lane.name, err)
		}
	}
	return nil
}

func ticksOf(ctx context.Context, b *bench, name string, exclusive bool) error {
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	text := fmt.Sprintf("version: 1\nlanes: {turns: {exclusive: %t}}\njob_types:\n", exclusive)
	for i := range tickTypes {
		text += fmt.Sprintf("  type-%04d: {handler: noop, lane: turns, schedule: {every: %s, first_run: scheduled}, params: {n: 0}}\n", i, tickEvery)
	}
	applied, err := c.apply(ctx, name, text)
	if err != nil {
		return err
	}
	started := time.Now()
	if _, err := jobtypes.Of(c.client).List(ctx); err != nil {
		return err
	}
	listed := time.Since(started)
	if err := pause(ctx, tickEvery); err != nil {
		return err
	}
	from := time.Now()
	used, err := c.spent(func() error { return pause(ctx, tickWatch) })
	if err != nil {
		return err
	}
	watched := time.Since(from)
	until := from.Add(watched)
	completed, err := c.ended(ctx, contract.OutcomeCompleted, from, until)
	if err != nil {
		return err
	}
	skipped, err := c.ended(ctx, contract.OutcomeSkipped, from, until)
	if err != nil {
		return err
	}
	due := tickTypes * watched.Seconds() / tickEvery.Seconds()
	return b.values("ticks_1000_"+name, tickTypes, "% of the ticks", []float64{100 * completed / due}, map[string]float64{
		"completed": completed, "skipped": skipped, "due": figure.Round(due),
		"server_cores": figure.Round(used.server / watched.Seconds()), "control_plane_cores": figure.Round(used.control / watched.Seconds()),
		"plan_s": figure.Round(applied.plan.Seconds()), "apply_s": figure.Round(applied.apply.Seconds()), "list_s": figure.Round(listed.Seconds()),
	})
}

// ended counts the job groups with this outcome that ended between two times. Visibility lags by a second.
func (c *cluster) ended(ctx context.Context, outcome contract.Outcome, from, until time.Time) (float64, error) {
	if err := pause(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	counted, err := c.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: c.client.Namespace(),
		Query: fmt.Sprintf("%s = '%s' AND CloseTime BETWEEN '%s' AND '%s'", contract.SearchAttributeOutcome, outcome,
			from.UTC().Format(time.RFC3339Nano), until.UTC().Format(time.RFC3339Nano)),
	})
	return float64(counted.GetCount()), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type applied struct{ plan, apply time.Duration }

// apply applies a configuration, whose handlers may be unknown.
func (c *cluster) apply(ctx context.Context, owner, text string) (applied, error) {
	loaded, err := config.Load(config.Options{Sources: []config.Source{{Name: owner, Data: []byte(text)}}, AllowUnregistered: true})
	if err != nil {
		return applied{}, err
	}
	specs, err := loaded.Specs()
	if err != nil {
		return applied{}, err
	}
	started := time.Now()
	plan, err := jobtypes.Of(c.client).PlanAs(ctx, owner, specs, loaded.Enabled())
	if err != nil {
		return applied{}, err
	}
	planned := time.Now()
	_, err = jobtypes.Of(c.client).Apply(ctx, plan)
	return applied{planned.Sub(started), time.Since(planned)}, err
}
