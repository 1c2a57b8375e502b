// Package admission decides who may do what when: turns in exclusive lanes,
// claims on dedupe keys, shared and exclusive objects, and quantities of
// resource pools. It is pure: no clock, no I/O, no goroutines. Time enters with
// every event; decisions leave as a list.
//
// It also remembers what has failed, within bounds, and holds back what fails too
// much or was marked as done. See [contract.RetryBudget].
//
// A [Core] serves holders, which are workflows: one chain of runs each. A holder
// sends requests of one of four kinds: a turn in a lane, a set of dedupe keys,
// resources (objects and quantities), or nothing but fences. Keys are answered at
// once, each with yes or no; lanes and resources wait. Every grant carries a range of
// fences that was never used before.
//
// Invariants, each with a property test against a model or a test of its own:
//
//   - A lane has at most one holder. An object has at most one exclusive holder
//     and then no shared one. A key has at most one holder.
//   - What is granted from a pool never exceeds its size, unless the size was
//     reduced while it was in use, or a holder asserts that it still has some of it.
//   - No request waits for more of a pool than there is, also if it gets smaller.
//   - Resources are granted all or nothing, by priority, then in the order of
//     asking. For a request that others overtook [MaxOvertakes] times at one of its
//     needs, one thing after the other is reserved: none starves. Only a request from
//     within something that has resources passes what is reserved: what it waits for
//     may be given back no sooner. Free resources are reserved for [ReserveLimit], then
//     for longer each time.
//   - In a lane the waiting job types take turns alphabetically; a type that had
//     its turn while another waited lets that one go first.
//   - Asking twice is asking once; a repeated request for what is granted is
//     answered with the same fences. A holder that was reset gets new fences for it,
//     and nothing of what was given to others since.
//   - A key is free as soon as its holder reports that the job has ended. A repeated
//     report does not take it from another holder.
//   - A release wins over an assertion in the same message: nothing leaks, however
//     messages interleave with recoveries.
//   - A failure counts once, however often it is reported. The Count-th one within the
//     window of a rule holds the key or the job type back, until a time or until
//     an operator lifts it. A key that is held back is granted to no holder that the
//     rule binds, and of a type that is, nothing starts.
//   - When everything granted is given back, everything waiting is granted.
//   - While recovering nothing new is granted.
//   - Fences never go backwards, also under a clock that is behind.
//   - What is accepted can travel in one payload; beyond that it is refused as FULL.
//   - Restore(Snapshot(c)) behaves as c does.
//   - The cost of an event does not depend on how much is held.
package admission
