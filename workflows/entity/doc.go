// Package entity is the common part of the workflows that serve a whole namespace:
// admission, the worker registry, the audit log and the notifier. Each lives for ever, as a
// chain of runs, and repeats the same turn:
//
//	loop, err := entity.New(ctx, entity.Options{…})
//	for {
//		if loop.Full(limits, idle) {
//			return continueAsNew(…)      // after loop.Finish()
//		}
//		decide, send, loop.Flush()
//		if err := loop.Wait(deadline, woken); err != nil {
//			return err
//		}
//		collect answers
//	}
//
// A [Loop] promises:
//
//   - A cancellation ends nothing. The audit log records it, and the run continues as new, so that another
//     cancellation is noticed too. Only a termination ends an entity.
//   - A termination is recorded by the next entity of that id.
//   - A reset is noticed once and recorded, see [Loop.WasReset].
//   - Waiting writes no event: one timer runs for the next deadline, and none is canceled.
//   - A run makes room for the next one while no message comes, see [Loop.Full].
package entity
