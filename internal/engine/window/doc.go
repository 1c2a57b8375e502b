// Package window decides when work may start. It is pure: times and time zones are arguments.
//
// A [Calendar] is a set of windows and blackouts by wall clocks. One rule covers daylight saving time:
//
//	A moment is in a window, or in a recurring blackout, exactly if the wall clock of
//	the zone then shows a time of it.
//
// A time at which the clock is in [From, To) on an allowed day is inside. A span over midnight belongs to the day of
// its start. A window across the changes of the clock is an hour shorter or longer. One within the gap does not
// exist, and one that ends within the repeated hour is open twice.
//
// A single blackout has two dates. A date without an offset begins at the first moment at which the clock shows it,
// and ends at the last. A skipped time means the end of the gap.
//
// The package returns spans of UTC instants, so its callers need no time zone database.
package window
