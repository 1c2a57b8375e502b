package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/notify"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// rarely is the pause between reads of the job types, whose rules change with an apply.
	interval = 5 * time.Second
	rarely   = 30 * time.Second
	// stay is the time after which the watcher returns, so that its notifier can continue as new.
	stay = 6 * time.Hour
)

// Source is the origin of the events.
type Source interface {
	Runs
	Results
	Waits
}

// Runs reads runs that have ended.
type Runs interface {
	// Ended returns the runs that ended since: all, or the earliest up to until if there are too many.
	Ended(ctx context.Context, since time.Time) (ended []notify.Ended, until time.Time, err error)
	// LastSuccess returns the end of the last completed run of the job type; zero if unknown.
	LastSuccess(ctx context.Context, jobType string) (time.Time, error)
}

// Results reads the results of runs that have ended.
type Results interface {
	// Missed returns the workers that a run did not reach, if nothing else failed.
	Missed(ctx context.Context, of notify.Ended) ([]string, error)
	// Describe adds the data of its run to a notification.
	Describe(ctx context.Context, of *contract.Notification)
}

// Waits reads the rules of job types, pending approvals and lost workers.
type Waits interface {
	// TypeRules returns the rules of the applied job types, by name.
	TypeRules(ctx context.Context) ([]notify.TypeRules, error)
	Approvals(ctx context.Context) (notify.Approvals, error)
	// Lost returns the workers that are lost or suspect.
	Lost(ctx context.Context) ([]notify.Worker, error)
}

// Options are the options of [New].
type Options struct {
	Source    Source
	Receivers receiver.Receivers
	// Rules apply to all job types, DAGs and workers.
	Rules     []contract.NotifyRule
	Namespace string
	Log       *slog.Logger
	// Delivered is called after each attempt; may be nil.
	Delivered func(receiver string, err error)
	// Shim is the command line of this binary as a shim, see [command.Options].
	Shim []string
	// Interval is the pause between looks at runs; 0 means five seconds.
	Interval time.Duration
}

// Activities has the activities as methods.
type Activities struct {
	options Options
	runner  *command.Runner
}

// New returns the activities.
func New(options Options) *Activities {
	options.Interval = cmp.Or(options.Interval, interval)
	if options.Delivered == nil {
		options.Delivered = func(string, error) {}
	}
	return &Activities{options: options, runner: command.NewRunner(command.Options{Shim: options.Shim})}
}

// Registry is where activities are registered: a worker or a test environment.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities under their names.
func Register(r Registry, a *Activities) {
	r.RegisterActivityWithOptions(a.WatchEvents, activity.RegisterOptions{Name: contract.WatchEventsActivity})
	r.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: contract.DeliverActivity})
}

func (a *Activities) infos() []contract.ReceiverInfo {
	infos := []contract.ReceiverInfo{}
	for _, name := range a.options.Receivers.Names() {
		infos = append(infos, contract.ReceiverInfo{Name: name, Kind: a.options.Receivers[name].Kind()})
	}
	return infos
}

// WatchEvents is [contract.WatchEventsActivity]. It returns with an event, when this control plane has other
// receivers than the notifier, and when it is canceled. A repeat resumes from the heartbeat of the previous attempt.
// When the control plane stops it returns an error that is retried.
func (a *Activities) WatchEvents(ctx context.Context, in contract.WatchEventsInput) (contract.WatchEventsResult, error) {
	w := &watcher{Activities: a, state: stateOf(ctx, in)}
	w.state.Begin(time.Now().UTC())
	stop := w.beating(ctx)
	defer stop()
	started := time.Now()
	ticker := time.NewTicker(a.options.Interval)
	defer ticker.Stop()
	for {
		notices := w.look(ctx)
		known := a.infos()
		if len(notices) > 0 || !slices.Equal(known, in.Receivers) || time.Since(started) > stay {
			return w.result(notices, known)
		}
		w.save()
		if err := rpc.NextEvent(ctx, ticker.C); err != nil {
			if ctx.Err() != nil && !stopping(ctx) {
				return w.result(nil, known)
			}
			return contract.WatchEventsResult{}, err
		}
	}
}

func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

func stateOf(ctx context.Context, in contract.WatchEventsInput) *notify.State {
	var state notify.State
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &state) == nil {
		return &state
	}
	if len(in.State) > 0 {
		if err := json.Unmarshal(in.State, &state); err != nil {
			activity.GetLogger(ctx).Error("The watcher's state cannot be read; it begins now.", "error", err)
			return &notify.State{}
		}
	}
	return &state
}

type watcher struct {
	*Activities

	state  *notify.State
	rules  notify.Rules
	looked time.Time
	saved  atomic.Pointer[json.RawMessage]
}

// save stores a state whose events have all been returned.
func (w *watcher) save() {
	if state, err := json.Marshal(w.state); err == nil {
		w.saved.Store((*json.RawMessage)(&state))
	}
}

// An interrupted look is repeated from the state saved before it.
func (w *watcher) beating(ctx context.Context) (stop func()) {
	w.save()
	return every(min(beat, w.options.Interval), func() { activity.RecordHeartbeat(ctx, *w.saved.Load()) })
}

func (w *watcher) result(notices []contract.Notice, known []contract.ReceiverInfo) (contract.WatchEventsResult, error) {
	state, err := json.Marshal(w.state)
	return contract.WatchEventsResult{State: state, Notices: notices, Receivers: known}, err
}

func (w *watcher) look(ctx context.Context) []contract.Notice {
	now := time.Now().UTC()
	due := now.Sub(w.looked) >= min(rarely, 6*w.options.Interval)
	if due {
		types, err := w.options.Source.TypeRules(ctx)
		if w.failed(ctx, "the rules of job types", err) {
			return nil
		}
		w.rules, w.looked = notify.Rules{Global: w.options.Rules, Types: types}, now
		w.successes(ctx)
	}
	facts := notify.Facts{Now: now, Rules: w.rules}
	if w.rules.Wants(contract.NotifyFailed, contract.NotifyPartial, contract.NotifyWarning, contract.NotifyRecovered) || len(w.rules.Overdue()) > 0 {
		var err error
		if facts.Ended, facts.Until, err = w.options.Source.Ended(ctx, w.state.From()); w.failed(ctx, "runs that ended", err) {
			return nil
		}
		w.missed(ctx, facts.Ended)
	} else {
		w.state.Skip(now)
	}
	if w.rules.Wants(contract.NotifyApproval) {
		if wanted, err := w.options.Source.Approvals(ctx); !w.failed(ctx, "approvals", err) {
			facts.Approvals = &wanted
		}
	}
	if w.rules.Wants(contract.NotifyWorkerLost, contract.NotifyWorkerSuspect) {
		if lost, err := w.options.Source.Lost(ctx); !w.failed(ctx, "workers", err) {
			facts.Lost = &lost
		}
	}
	notices := w.state.Watch(facts)
	for i := range notices {
		w.options.Source.Describe(ctx, &notices[i].Notification)
		notices[i].Namespace = w.options.Namespace
		title(&notices[i].Notification)
	}
	return slices.DeleteFunc(notices, func(n contract.Notice) bool {
		return n.Event == contract.NotifyWarning && n.Counts != nil && n.Counts[contract.JobWarning] == 0
	})
}

// missed adds the workers that runs did not reach.
func (w *watcher) missed(ctx context.Context, ended []notify.Ended) {
	for i, run := range ended {
		if w.state.Seems(run) {
			var err error
			ended[i].Missed, err = w.options.Source.Missed(ctx, run)
			w.failed(ctx, "the result of "+run.Run, err)
		}
	}
}

func (w *watcher) successes(ctx context.Context) {
	for _, name := range w.rules.Overdue() {
		if _, known := w.state.Success[name]; known {
			continue
		}
		last, err := w.options.Source.LastSuccess(ctx, name)
		if !w.failed(ctx, "the last success of "+name, err) && !last.IsZero() {
			w.state.Success[name] = last
		}
	}
}

func (w *watcher) failed(ctx context.Context, of string, err error) bool {
	if err != nil && ctx.Err() == nil {
		w.options.Log.Warn("The facts for notifications cannot be read.", "of", of, "error", err)
	}
	return err != nil
}
