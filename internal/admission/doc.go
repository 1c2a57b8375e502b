// Package admission decides who may do what when: turns in exclusive lanes,
// claims on dedupe keys, shared and exclusive objects, and quantities of
// resource pools. It is pure: no clock, no I/O, no goroutines. Time enters with
// every event; what is to be told to whom leaves as a list of decisions.
//
// It also remembers what has failed, within bounds, and holds back what fails too
// much or was marked as done. See [Budget].
//
// A [Desk] serves holders, which are workflows: one chain of runs each. A
// holder asks with requests of one of four kinds: a turn in a lane, a set of
// dedupe keys, resources (objects and quantities), or nothing but fences. Keys
// are answered at once, each with yes or no; lanes and resources wait. Every
// grant carries a range of fences that was never used before.
//
// Invariants, each checked by a property test against a model:
//
//   - A lane has at most one holder. An object has at most one exclusive holder
//     and then no shared one. A key has at most one holder.
//   - What is granted from a pool never exceeds its size, unless the size was
//     reduced while it was in use, or somebody says that it still has some of it.
//   - Nobody waits for more of a pool than there is, also if it gets smaller.
//   - Resources are granted all or nothing, by priority, then in the order of
//     asking. For a request that others overtook [MaxOvertakes] times one thing
//     after the other is kept: nobody starves. Only what is needed within something
//     that has resources passes it: what it waits for may be given back no sooner.
//     What is free is not kept for as long as something else is missing, but for
//     [KeepLimit], then for longer each time.
//   - In a lane the waiting job types take turns alphabetically; a type that had
//     its turn while another waited lets that one go first.
//   - Asking twice is asking once; a repeated request for what is granted is
//     answered with the same grant. A holder that was reset gets new fences for it,
//     and nothing of what was given to others since.
//   - A key is free as soon as its holder says that the job has ended. Saying so
//     again does not take it from somebody else.
//   - A failure counts once, however often it is told. The Count-th one within the
//     window of a [Rule] holds the key or the job type back, until a time or until
//     an operator lifts it. A key that is held back is granted to nobody whom the
//     rule binds, and of a type that is, nothing starts.
//   - When everything granted is given back, everything waiting is granted.
//   - While recovering nothing new is granted.
//   - Restore(Snapshot(d)) behaves as d does.
package admission
