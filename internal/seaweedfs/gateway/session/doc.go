// Package session implements the protocol on the stream of one `weed worker`. It is pure:
// messages and the time go in, messages and events come out.
//
//	             hello                schemas or their wait        verdict
//	greeting ────────────▶ asking ─────────────────────▶ joining ─────────▶ ready
//	    └──────────────────────┴──────── a fault, silence or the end ─────────┴──▶ closed
//
// It promises:
//
//   - Every request ends in exactly one [Ended] event, under any behavior of the worker,
//     and at the latest when the session closes.
//   - Nothing of a request is reported after its end.
//   - A partial detection never ends as a success: the worker's count must equal the
//     number received.
//   - Its memory is bounded by [Limits]. Messages without a request are dropped and
//     counted, and a worker that sends too many of them is disconnected.
package session
