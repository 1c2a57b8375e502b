// Package window decides when work may start. It is pure: no clock, no I/O. Time
// enters as data, and so do time zones, through a [Zones] function.
//
// A [Calendar] is a set of windows and blackouts by wall clocks. There is one
// rule, and it says all there is to say about daylight saving time:
//
//	A moment lies in a window, or in a blackout that comes back, exactly if the
//	wall clock of the zone then shows a time of it.
//
// A time at which the clock stands [From, To) on an allowed day is inside; a
// span over midnight belongs to the day it begins on. So on the night on which
// the clock is put forward, a window that lies in the gap does not exist, and
// one across it is an hour shorter; on the night on which it is put back, one
// across the change is an hour longer, and one that ends within the repeated
// hour is open twice: closed in between, while the clock shows a time outside.
//
// A single blackout is given by two dates. One without an offset begins at the
// first moment at which the clock shows it, and ends at the last; a time that
// the clock skips stands for the end of the gap.
//
// The package returns spans of UTC instants, [From, To): whoever works
// with those needs no time zone database.
package window
