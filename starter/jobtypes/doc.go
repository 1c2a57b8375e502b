// Package jobtypes is the part of the client about job types and their Schedules:
//
//	types := jobtypes.Of(client)
//	plan, err := types.Plan(ctx, specs, nil)     // what a configuration would change
//	result, err := types.Apply(ctx, plan)        // make it so; again, it does nothing
//	run, err := types.Trigger(ctx, "scrub")      // a group now
//	jobs, err := types.Submit(ctx, known, work)  // jobs without a detection
//
// Apply never overwrites unseen what somebody else changed, and leaves alone what
// Roundsman did not make. The audit log has all changes of a job type.
package jobtypes
