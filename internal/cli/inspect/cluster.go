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

// faulty returns the check of a configuration with faults.
func faulty(found string) []doctor.Check {
	check := doctor.Check{Name: "cluster", Verdict: doctor.VerdictWarn, Found: found}
	check.Help(explain.Remedy{Hint: "`roundsman validate` lists the faults"})
	return []doctor.Check{check}
}

// clusterChecks contact the cluster of the configuration, if any, from this machine.
func (c *commands) clusterChecks(ctx *cli.Context) []doctor.Check {
	if len(c.ConfigFiles(ctx)) == 0 {
		return nil
	}
	options, err := c.LoadOptions()
	if err != nil {
		return faulty(err.Error())
	}
	loaded, err := c.WholeSettings(ctx)
	if err != nil {
		return faulty("the configuration has faults")
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
			check := doctor.Check{Name: probe.Name, Verdict: doctor.VerdictOK, Found: probe.Found}
			if probe.Fix != "" {
				check.Verdict = doctor.VerdictWarn
				check.Help(explain.Remedy{Hint: probe.Fix})
			}
			checks = append(checks, check)
		}
	}
	return checks
}
