// Package jobtypetest runs a [jobtype.Handler] without Roundsman and without
// Temporal, for the tests of handler authors.
//
//	found := jobtypetest.Detect(ctx, handler, jobtype.DetectInput{Params: params})
//	job, err := jobtypetest.JobOf(input, found.Proposals[0], nil)
//	done := jobtypetest.Execute(ctx, handler, job)
//
// [Detect] and [Execute] treat the handler as a worker would: proposals and
// checkpoints go through JSON, bounds are enforced, a cancellation carries its
// cause. Nothing depends on the clock: a cancellation strikes at the n-th sign
// of life of the handler ([CancelAtReport], [CancelAtCheckpoint]), never after
// a while. [Resume] interrupts a job at a checkpoint and lets a second attempt
// continue from it. [Check] is the conformance test that every handler should
// pass.
package jobtypetest
