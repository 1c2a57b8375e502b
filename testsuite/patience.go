package testsuite

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// waitPatience is what a wait lasts beyond its limit: what comes is seen as soon as it
// comes, and on an overloaded machine nothing comes in time.
const waitPatience = time.Minute

// mostSlack bounds [Slack]: what takes five times as long is not the machine's fault.
const mostSlack = 5

// Slack is a limit for this machine as it is now: longer, in proportion, where more
// programs want to run than there are processors.
func Slack(limit time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return limit // Other systems have other files. The limit is strict there.
	}
	var lastMinute, fiveMinutes float64
	if _, err := fmt.Sscan(string(text), &lastMinute, &fiveMinutes); err != nil {
		return limit
	}
	return slack(limit, max(lastMinute, fiveMinutes)/float64(runtime.NumCPU()))
}

func slack(limit time.Duration, load float64) time.Duration {
	return time.Duration(float64(limit) * min(max(load, 1), mostSlack))
}
