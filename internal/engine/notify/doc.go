// Package notify decides who is told of what, and when a delivery is tried. It has no
// clock and does no I/O.
//
// [Watch] turns what was seen of runs, approvals and workers into notices: each event
// once, to each receiver once, however many rules name it. It runs where the events
// are observed, so that what concerns no rule reaches no history.
//
// [Queue] holds the notices until their receivers have taken them. Each receiver has a
// queue of its own, of which the first delivery is tried until it succeeds, fails for
// good or is [GiveUpAfter] old; a dead receiver delays no other. A delivery whose
// attempt did not report is tried again: receivers get each notification at least
// once, and tell repeats by its id.
package notify
