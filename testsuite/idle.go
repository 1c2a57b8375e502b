package testsuite

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// idleTick is the shortest time between two measurements.
const idleTick = time.Second / 2

// cpuTimes are the idle and the whole time of all CPUs in ticks.
type cpuTimes struct{ idle, all int64 }

func readCPUTimes() (times cpuTimes) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait ...
		ticks, _ := strconv.ParseInt(field, 10, 64)
		if times.all += ticks; i == 4 || i == 5 {
			times.idle += ticks
		}
	}
	return times
}

// Idle observes whether the CPUs of the machine are idle. The load average rises and falls a minute too late for this.
type Idle struct {
	window time.Duration
	share  float64
	read   func() cpuTimes
	clock  func() time.Time
	at     []time.Time
	times  []cpuTimes
}

// NewIdle returns an observer for a share of the time of all CPUs in a window.
func NewIdle(window time.Duration, share float64) *Idle {
	return &Idle{window: window, share: share, read: readCPUTimes, clock: time.Now}
}

// Now reports whether the CPUs were idle for the share of the window. The caller then uses them, so a new window begins. It is
// called as often as once a second; longer pauses begin a new window too. It is always false where /proc/stat is missing.
func (i *Idle) Now() bool {
	now := i.clock()
	if n := len(i.at); n > 0 {
		pause := now.Sub(i.at[n-1])
		if pause < idleTick {
			return false
		}
		if pause > i.window {
			i.at, i.times = nil, nil
		}
	}
	i.at, i.times = append(i.at, now), append(i.times, i.read())
	for len(i.at) > 1 && now.Sub(i.at[1]) >= i.window {
		i.at, i.times = i.at[1:], i.times[1:]
	}
	if now.Sub(i.at[0]) < i.window {
		return false
	}
	first, last := i.times[0], i.times[len(i.times)-1]
	if float64(last.idle-first.idle) <= i.share*float64(last.all-first.all) {
		return false
	}
	i.at, i.times = nil, nil
	return true
}
