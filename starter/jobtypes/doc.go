// Package jobtypes is the client for job types and their Schedules:
//
//	types := jobtypes.Of(client)
//	plan, err := types.Plan(ctx, specs, nil)     // the changes of a configuration
//	result, err := types.Apply(ctx, plan)        // carry them out; repeating has no effect
//	run, err := types.Trigger(ctx, "scrub")      // start a group now
//	jobs, err := types.Submit(ctx, known, work)  // start jobs without a detection
//
// Apply includes the changes of others, and ignores Schedules that Roundsman did not create.
package jobtypes
