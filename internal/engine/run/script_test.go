package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

type script struct {
	t       *testing.T
	e       *Engine
	now     time.Time
	last    []Decision
	settled []Report
	// failed lists the failed attempts that were reported: "item.attempt@worker".
	failed []string
}

func play(t *testing.T, cfg Config, policy jobtype.Policy, workers ...contract.WorkerView) *script {
	t.Helper()
	if cfg.Work == nil {
		cfg.Work = map[string]Work{"": {Handler: "h", JobType: "jt", Policy: policy.WithDefaults(), PerWorker: policy.PerWorkerExecutionConcurrency}}
	}
	s := &script{t: t, now: epoch}
	s.e = New(cfg, s.now)
	s.step(WorkersChanged{Workers: workers})
	return s
}

func node(id string, slots int) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i1", State: contract.WorkerOnline, Fresh: true, MaxExecute: slots, MaxDetect: 1,
		Capabilities: []contract.Capability{{Handler: "h", Execute: true, Detect: true}},
	}
}

func offline(id string, leaving bool) contract.WorkerView {
	w := node(id, 1)
	w.State, w.Fresh, w.Leaving = contract.WorkerOffline, false, leaving
	return w
}

func (s *script) take() []Decision {
	s.last = nil
	for {
		decisions, reports := s.e.Take(s.now)
		s.last = append(s.last, decisions...)
		for _, r := range reports {
			switch r.Kind {
			case Settled:
				s.settled = append(s.settled, r)
			case AttemptFailed:
				s.failed = append(s.failed, fmt.Sprintf("%d.%d@%s", r.Item, r.Attempt, r.Worker))
			case Admitted, Crowded, Deferred, Due:
			}
		}
		if len(reports) == 0 {
			return s.last
		}
	}
}

func (s *script) step(event Event) []Decision {
	s.e.Apply(s.now, event)
	return s.take()
}

func (s *script) offer(items ...Item) []Decision {
	for _, in := range items {
		s.e.Offer(s.now, in)
	}
	return s.take()
}

// plain offers n items, numbered from 1.
func (s *script) plain(n int) []Decision {
	items := make([]Item, n)
	for i := range items {
		items[i].ID = i + 1
	}
	return s.offer(items...)
}

func (s *script) end(id int, failure Failure) []Decision {
	return s.endSaying(id, failure, LoadReport{})
}

func (s *script) endSaying(id int, failure Failure, load LoadReport) []Decision {
	s.t.Helper()
	it := s.e.items[id]
	require.NotNil(s.t, it)
	return s.step(Ended{Item: id, Attempt: it.Attempt, Ending: Ending{Failure: failure, Message: "because " + string(failure), Load: load}})
}

func (s *script) deliver(id, attempt int, failure Failure) []Decision {
	return s.step(Delivered{Item: id, Attempt: attempt, Ending: Ending{Failure: failure, Message: "later"}})
}

func (s *script) said(others, ofHandler int) LoadReport {
	return LoadReport{At: s.now, Others: others, OfHandler: ofHandler}
}

// wait advances the time as the workflow does.
func (s *script) wait(d time.Duration) []Decision {
	var decisions []Decision
	until := s.now.Add(d)
	for {
		wake := s.e.NextWake()
		if wake.IsZero() || wake.After(until) {
			break
		}
		s.now = wake
		decisions = append(decisions, s.step(Tick{})...)
	}
	s.now = until
	s.last = append(decisions, s.step(Tick{})...)
	return s.last
}

// starts lists the items that start, with their workers.
func starts(decisions []Decision) string {
	var list []string
	for _, d := range decisions {
		if d.Kind == Start {
			list = append(list, fmt.Sprintf("%d@%s", d.Item, d.Worker))
		}
	}
	return strings.Join(list, " ")
}

// kinds lists the other decisions.
func kinds(decisions []Decision) string {
	names := map[Kind]string{Start: "start", Cancel: "cancel", Forget: "forget", Abandon: "abandon", Probe: "probe", Watch: "watch", Acquire: "acquire", Release: "release", MoreFences: "fences"}
	var list []string
	for _, d := range decisions {
		list = append(list, names[d.Kind])
	}
	return strings.Join(list, " ")
}

var stateNames = map[State]string{Completed: "completed", Failed: "failed", Stale: "stale", Canceled: "canceled", Expired: "expired", NotStarted: "not started"}

func (s *script) ended() string {
	var list []string
	for _, r := range s.settled {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %s", r.Item, stateNames[r.State], r.Message)))
	}
	return strings.Join(list, "; ")
}

func (s *script) reload() {
	s.t.Helper()
	m := Config{Work: s.e.work, Limit: s.e.limit, Claims: s.e.claims, Admit: s.e.admit}
	s.e = reloaded(s.t, m, s.e, s.now)
}
