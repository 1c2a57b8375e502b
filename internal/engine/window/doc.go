// Package window decides when work may start. It is pure: no clock, no I/O. Times are arguments, and so are
// time zones, through a [Zones] function.
//
// A [Calendar] is a set of windows and blackouts by wall clocks. One rule covers daylight saving time:
//
//	A moment is in a window, or in a recurring blackout, exactly if the wall clock of
//	the zone then shows a time of it.
//
// A time at which the clock is in [From, To) on an allowed day is inside. A span over midnight belongs to the
// day of its start. When the clock is put forward, a window within the gap does not exist, and a window across
// the gap is an hour shorter. When the clock is put back, a window across the change is an hour longer. A
// window that ends within the repeated hour is open twice, and closed in between.
//
// A single blackout has two dates. A date without an offset begins at the first moment at which the clock shows
// it, and ends at the last. A time that the clock skips means the end of the gap.
//
// The package returns spans of UTC instants, [From, To), so its callers need no time zone database.
package window
