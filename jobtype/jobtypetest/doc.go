// Package jobtypetest runs a [jobtype.Handler] without Roundsman and without
// Temporal, for the tests of handler authors.
//
//	found := jobtypetest.Detect(ctx, handler, jobtype.DetectInput{Params: params})
//	job, err := jobtypetest.JobOf(input, found.Proposals[0], nil)
//	done := jobtypetest.Execute(ctx, handler, job)
//
// [Detect] and [Execute] call the handler as a worker does: proposals and checkpoints pass through JSON, bounds are
// enforced, a cancellation carries its cause. A cancellation happens at the n-th sign of life, never by the clock
// ([CancelAtReport], [CancelAtCheckpoint]). [Resume] interrupts a job at a checkpoint and continues in a second
// attempt. [Check] is the conformance test for every handler.
package jobtypetest
