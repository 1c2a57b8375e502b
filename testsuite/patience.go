package testsuite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

const (
	// waitPatience is what a wait lasts beyond its limit.
	waitPatience = time.Minute
	// slowestMachine bounds how much longer a wait lasts on a busy machine.
	slowestMachine = 10
	patienceTick   = 20 * time.Millisecond
)

// Patience is the time left of a wait, as a machine counts it that does nothing else: with four
// runnable threads for each core a second counts a quarter of a second. A wait therefore does not
// end because the machine is busy.
type Patience struct {
	limit, left time.Duration
	at          time.Time
	// Load returns the runnable threads for each core.
	Load func() float64
}

// NewPatience returns the patience of a wait with this limit, which is for a machine that keeps up.
func NewPatience(limit time.Duration) *Patience {
	limit += waitPatience
	return &Patience{limit: limit, left: limit, at: time.Now(), Load: Load}
}

// Over reports whether the time is over. It counts the time since the call before as this moment's
// load says.
func (p *Patience) Over(now time.Time) bool {
	passed := now.Sub(p.at)
	p.at = now
	p.left -= time.Duration(float64(passed) / min(max(p.Load(), 1), slowestMachine))
	return p.left <= 0
}

// Load returns the runnable threads of the machine for each core; 1 if the machine does not say.
func Load() float64 {
	// 20.44 25.77 19.96 21/329 15739
	data, err := os.ReadFile("/proc/loadavg")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 4 {
		return 1
	}
	runnable, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(runnable))
	if err != nil {
		return 1
	}
	return float64(n) / float64(runtime.NumCPU())
}

// Within returns a context that ends with the test, or after the limit by [Patience].
func Within(t testing.TB, limit time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	patience := NewPatience(limit)
	go func() {
		tick := time.NewTicker(patienceTick)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if patience.Over(now) {
					cancel(fmt.Errorf("waited %s in vain: %w", patience.limit, context.DeadlineExceeded))
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
