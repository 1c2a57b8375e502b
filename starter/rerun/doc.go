// Package rerun executes jobs of a run of a job type again: a new run, submitted with the
// proposals of the jobs that failed or were missed. It reads the record of the earlier run,
// for which the server suffices.
//
//	plan, err := rerun.Of(client).Preview(ctx, ref, rerun.Choice{Failed: true})
//	started, err := rerun.Of(client).Start(ctx, ref, rerun.Choice{Failed: true}, by)
//
// Runs of DAGs are retried by package starter.
package rerun
