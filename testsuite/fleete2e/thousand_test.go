package fleete2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// oddClock is the skew of a worker's clock: most are small, one in fifty is minutes.
func oddClock(n int) time.Duration {
	if n%50 == 0 {
		return time.Duration(n%300-150) * time.Second
	}
	return time.Duration(n%7-3) * 50 * time.Millisecond
}

// TestThousandWorkers: with the default interval and thresholds a thousand workers have the right states, and without changes no
// history is written. `make test` has a quarter of them.
func TestThousandWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute and a half with 1,000 simulated workers: run without -short")
	}
	thousand := testsuite.Sized(t, 250, 1000)
	s := &site{t: t, server: testsuite.StartServer(t), thresholds: "default"}
	s.client = s.server.Client(t)
	s.startControl()
	c := &testsuite.Crowd{Service: s.client.WorkflowService(), Size: thousand, Interval: 5 * time.Second, Skew: oddClock}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	defer func() { cancel(); <-done }()

	began := time.Now()
	registerAll(t, s, thousand)
	t.Logf("%d registrations in %.1f s, history %d events", thousand, time.Since(began).Seconds(), s.events())
	var idle usage
	testsuite.WaitFor(t, 3*time.Minute, "all workers fresh and a registry that writes nothing", func() bool {
		if s.fresh() != thousand {
			return false
		}
		idle = s.usage()
		return !s.grows(32 * time.Second)
	})
	used := s.usage().since(idle)
	t.Logf("idle: control plane %.1f %% of a CPU, server %.1f %% (heartbeats of all workers included)", used.control, used.server)

	before := s.events()
	c.Silent.Store(10)
	lost := time.Now()
	testsuite.WaitFor(t, 40*time.Second, "ten lost workers", func() bool { return s.fresh() == thousand-10 })
	t.Logf("10 silent workers noticed after %.1f s (freshness 15 s), %d events", time.Since(lost).Seconds(), s.events()-before)
	assert.Zero(t, c.Faults.Load(), "heartbeats that the server refused")
}

func registerAll(t *testing.T, s *site, thousand int) {
	t.Helper()
	var group sync.WaitGroup
	const clients = 8
	faults := make(chan error, thousand)
	for client := range clients {
		group.Go(func() {
			for i := client; i < thousand; i += clients {
				verdict, err := register(t.Context(), s.client, registration(testsuite.CrowdID(i), "1"))
				if err == nil && !verdict.Accepted {
					err = fmt.Errorf("worker %d was refused: %+v", i, verdict.Refused)
				}
				if err != nil {
					faults <- err
				}
			}
		})
	}
	group.Wait()
	close(faults)
	for err := range faults {
		require.NoError(t, err)
	}
}

// fresh counts the workers that can get work.
func (s *site) fresh() int {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	value, err := s.client.QueryWorkflow(ctx, contract.FleetWorkflowID, "", contract.QueryFleet)
	var view contract.FleetView
	if err != nil || value.Get(&view) != nil {
		return -1
	}
	n := 0
	for _, w := range view.Workers {
		if w.Fresh && w.State == contract.WorkerOnline {
			n++
		}
	}
	return n
}

// usage is the CPU time in seconds until a time. After since it is the percentage of a CPU.
type usage struct {
	at              time.Time
	control, server float64
}

func (s *site) usage() usage {
	return usage{time.Now(), cpu(s.t, s.control.cmd.Process.Pid), cpu(s.t, s.server.PID())}
}

func (u usage) since(begin usage) usage {
	hundredths := u.at.Sub(begin.at).Seconds() / 100
	return usage{u.at, (u.control - begin.control) / hundredths, (u.server - begin.server) / hundredths}
}

// cpu is the CPU time of a process in seconds.
func cpu(t *testing.T, pid int) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Logf("CPU time is not measured here: %v", err)
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	user, _ := strconv.ParseFloat(fields[12], 64)
	system, _ := strconv.ParseFloat(fields[13], 64)
	return (user + system) / 100
}
