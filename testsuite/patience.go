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
	// waitPatience is the extra time of every wait.
	waitPatience = time.Minute
	// slowestMachine is the maximum factor by which a wait is extended on a busy machine.
	slowestMachine = 10
	patienceTick   = 20 * time.Millisecond
)

// Patience is the remaining time of a wait, counted as on an idle machine: with four runnable threads per core a
// second counts a quarter. So a wait does not end because the machine is busy.
type Patience struct {
	limit, left time.Duration
	at          time.Time
	// Load returns the runnable threads per core.
	Load func() float64
}

// NewPatience returns the patience for a limit that is right for an idle machine.
func NewPatience(limit time.Duration) *Patience {
	limit += waitPatience
	return &Patience{limit: limit, left: limit, at: time.Now(), Load: Load}
}

// Over reports whether the time is over. The time since the previous call is divided by the current load.
func (p *Patience) Over(now time.Time) bool {
	passed := now.Sub(p.at)
	p.at = now
	p.left -= time.Duration(float64(passed) / min(max(p.Load(), 1), slowestMachine))
	return p.left <= 0
}

// Load returns the runnable threads of the machine per core; 1 if unknown.
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
		tick := time.NewTicker(10 * patienceTick)
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
