// Package session decides what is said on the stream of one `weed worker`. It is
// pure: messages and the time go in, messages and events come out.
//
//	             hello                schemas or their wait        verdict
//	greeting ────────────▶ asking ─────────────────────▶ joining ─────────▶ ready
//	    └──────────────────────┴──────── a fault, silence or the end ─────────┴──▶ closed
//
// It promises:
//
//   - Every request ends in exactly one [Ended] event, whatever the worker does, and
//     at the latest when the session closes.
//   - Nothing of a request is reported after its end.
//   - Half a detection never ends as a success: the worker's count must be ours.
//   - Its memory is bounded by [Limits]: messages that belong to nothing are dropped and
//     counted, and a worker that sends too many of them is disconnected.
package session
