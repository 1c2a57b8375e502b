package inspect

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const probeTimeout = 5 * time.Second

func (c *commands) retentionCheck(ctx *cli.Context, client *starter.Client) []doctor.Check {
	if len(c.ConfigFiles(ctx)) == 0 {
		return nil
	}
	loaded, err := c.Settings(ctx)
	if err != nil || loaded.Retention.Runs == 0 {
		return nil // The cluster's check reports a faulty configuration.
	}
	return []doctor.Check{doctor.CheckRetention(ctx.Context, client, loaded.Retention.Runs.Std(), time.Now())}
}

// listFaults is the hint for a configuration with faults.
const listFaults = "`roundsman validate` lists the faults"

// clusterChecks contact the cluster of the configuration, if any, from this machine.
func (c *commands) clusterChecks(ctx *cli.Context) []doctor.Check {
	if len(c.ConfigFiles(ctx)) == 0 {
		return nil
	}
	options, err := c.LoadOptions()
	if err != nil {
		return []doctor.Check{doctor.Check{Name: "cluster", Verdict: doctor.VerdictWarn, Found: err.Error()}.With(explain.Remedy{Hint: listFaults})}
	}
	loaded, err := c.WholeSettings(ctx)
	if err != nil {
		return []doctor.Check{doctor.Check{Name: "cluster", Verdict: doctor.VerdictWarn, Found: "the configuration has faults"}.With(explain.Remedy{Hint: listFaults})}
	}
	bounded, cancel := context.WithTimeout(ctx.Context, probeTimeout)
	defer cancel()
	var checks []doctor.Check
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(loaded.JobTypes)) {
		user, ok := options.Validators[loaded.JobTypes[name].Handler].(jobtype.ClusterUser)
		if !ok || !loaded.JobTypes[name].Enabled {
			continue
		}
		for _, probe := range user.ProbeCluster(bounded, loaded.Cluster) {
			if known[probe.Name] {
				continue
			}
			known[probe.Name] = true
			check := doctor.Check{Name: probe.Name, Verdict: doctor.VerdictOK, Found: probe.Found}.With(explain.Remedy{Hint: probe.Fix})
			if probe.Fix != "" {
				check.Verdict = doctor.VerdictWarn
			}
			checks = append(checks, check)
		}
	}
	return checks
}
