// Package admission grants turns in exclusive lanes, claims on dedupe keys, shared and exclusive objects, and
// quantities of resource pools. It holds back job types and keys that fail too often or were marked as done, see
// [contract.RetryBudget]. It is pure.
//
// A holder is a workflow: one chain of runs. Its requests are of four kinds: a turn in a lane, a set of dedupe keys,
// resources, or only fences. Keys are answered at once; lanes and resources wait. Every grant carries a new range of fences.
//
// Invariants, each with a property test against a model or a test of its own:
//
//   - A lane has at most one holder. An object has at most one exclusive holder
//     and then no shared one. A key has at most one holder.
//   - Grants of a pool never exceed its size, unless the size was reduced while the
//     pool was in use, or a holder asserts an earlier grant.
//   - No request waits for more of a pool than its size, even after a reduction.
//   - Resources are granted all or nothing, by priority, then in the order of
//     arrival. For a request that others overtook [MaxOvertakes] times at one of its
//     needs, one resource after the other is reserved: none starves. Only a request from
//     within a holder of resources passes a reservation: that holder may release
//     nothing before. Free resources are reserved for [ReserveLimit], then for longer
//     each time.
//   - In a lane the waiting job types take turns alphabetically; a type that had
//     its turn while another waited lets that one go first.
//   - A repeated request has no effect; a granted one is answered with the same
//     fences. A holder that was reset gets new fences for its grants, except for
//     grants that went to others since.
//   - A key is free as soon as its holder reports the end of the job. A repeated
//     report does not take it from another holder.
//   - A release wins over an assertion in the same message: nothing leaks under any
//     interleaving of messages and recoveries.
//   - A failure counts once, even if reported repeatedly. The Count-th one within the
//     window of a rule holds the key or the job type back, until a time or until
//     an operator lifts the hold. A held-back key is granted to no holder with that
//     rule, and nothing of a held-back type starts.
//   - When all grants are released, all waiting requests are granted.
//   - A recovering core grants nothing new.
//   - Fences never decrease, even if a clock is behind.
//   - The accepted state fits into one payload; requests beyond are refused as FULL.
//   - Restore(Snapshot(c)) behaves as c does.
//   - The cost of an event does not depend on the amount held.
package admission
