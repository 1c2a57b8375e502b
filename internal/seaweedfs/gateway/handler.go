package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// CancelGrace is the time for a worker to end canceled work. A running script cannot be interrupted.
const CancelGrace = 10 * time.Second

const (
	// A worker accepts work a moment before the work can be canceled.
	cancelAgain = time.Second
	// harmfulAgain is the pause before a harmful cancel is considered again.
	harmfulAgain = time.Second
	// A worker reports the end of a job before it frees the slot for the next one.
	roomWait  = time.Second
	firstWait = 10 * time.Millisecond
)

// The next detection tries again. A job waits until its timeout: a leader may be elected.
const masterPatience = 5 * time.Second

// Without tolerance an admin_script with the interval of its schedule would skip ticks.
const clockTolerance = 5 * time.Second

var errSilent = errors.New("no master answers")

type handler struct {
	link       *link
	lease      Lease
	packer     *translate.Packer
	jobType    string
	form       *pb.JobTypeDescriptor
	descriptor jobtype.Descriptor
}

// Descriptor implements [jobtype.Handler].
func (h *handler) Descriptor() jobtype.Descriptor { return h.descriptor }

type prepared struct {
	settings translate.Settings
	cluster  *pb.ClusterContext
	block    json.RawMessage
	masters  bool
}

func (h *handler) prepare(params, cluster json.RawMessage) (prepared, error) {
	addresses, err := translate.ClusterOf(cluster)
	if err != nil {
		return prepared{}, jobtype.Permanent(err)
	}
	settings, err := translate.SettingsOf(h.form, params)
	if err != nil {
		return prepared{}, jobtype.Permanent(err)
	}
	return prepared{settings, addresses.Context(h.jobType, settings), cluster, len(addresses.Masters) > 0}, nil
}

// Detect implements [jobtype.Handler].
func (h *handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	p, err := h.prepare(in.Params, in.Cluster)
	if err != nil {
		return err
	}
	alive := func() {}
	if sink, ok := out.(jobtype.Alive); ok {
		alive = sink.Alive
	}
	held, release, err := h.hold(ctx, p, func(blocked weed.Blocked) error {
		alive()
		if blocked.Silent > masterPatience {
			return fmt.Errorf("UNREACHABLE: %w: %s", errSilent, blocked.Reason)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = h.ask(held, "detect", func(s *session.Session, now time.Time, id string) error {
		request := &pb.RunDetectionRequest{
			RequestId: id, JobType: h.jobType, DetectionSequence: now.UnixNano(), AdminRuntime: translate.DetectRuntime(h.form, in.MaxResults, untilEnd(ctx)),
			AdminConfigValues: p.settings.Admin, WorkerConfigValues: p.settings.Worker, ClusterContext: p.cluster,
			MaxResults: translate.Count(in.MaxResults),
		}
		if !in.LastWithJobs.IsZero() {
			request.LastSuccessfulRun = timestamppb.New(in.LastWithJobs.Add(-clockTolerance))
		}
		return s.Detect(now, request)
	}, watcher{
		found: func(id string, next *page) error { return h.emit(ctx, id, next, out) }, alive: alive, release: release,
		printed: func(lines []byte) {
			for line := range strings.Lines(string(lines)) {
				jobtype.Explain(out, line)
			}
		},
	})
	return err
}

func (h *handler) emit(ctx context.Context, id string, next *page, out jobtype.ProposalSink) error {
	defer h.link.consume(id, next)
	for _, found := range next.proposals {
		err := out.Emit(ctx, h.packer.Proposal(found))
		var refused *jobtype.ProposalError
		if err != nil && (errors.Is(err, jobtype.ErrSinkFull) || !errors.As(err, &refused)) {
			return err
		}
	}
	return nil
}

// Execute implements [jobtype.Handler].
func (h *handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	p, err := h.prepare(job.Params, job.Cluster)
	if err != nil {
		return jobtype.Result{}, err
	}
	spec, err := h.packer.Job(job, h.jobType, time.Now())
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	held, release, err := h.hold(ctx, p, func(blocked weed.Blocked) error {
		progress.Report(-1, "waits for the shell lease", blocked.Reason)
		return nil
	})
	if err != nil {
		return jobtype.Result{}, err
	}
	ended, err := h.ask(held, "job", func(s *session.Session, now time.Time, id string) error {
		return s.Execute(now, &pb.ExecuteJobRequest{
			RequestId: id, Job: spec, AdminRuntime: translate.ExecuteRuntime(h.form, untilEnd(ctx)),
			AdminConfigValues: p.settings.Admin, WorkerConfigValues: p.settings.Worker, ClusterContext: p.cluster, Attempt: translate.Count(job.Attempt),
		})
	}, watcher{
		advanced: func(a *session.Advanced) { progress.Report(a.Percent, a.Stage, a.Message) },
		printed:  func(lines []byte) { _, _ = jobtype.Log(progress).Write(lines) },
		alive:    progress.Alive,
		release:  release,
		harmful: func() bool {
			return slices.ContainsFunc(translate.Moves(spec), func(m *pb.BalanceMove) bool { return h.lease.Gone(context.WithoutCancel(ctx), p.block, m) })
		},
	})
	if ended == nil {
		return jobtype.Result{}, err
	}
	return translate.Result(ended.Result), err
}

func (h *handler) hold(ctx context.Context, p prepared, waits func(weed.Blocked) error) (held context.Context, release func(), err error) {
	if !translate.Mutates(h.jobType) || !p.masters {
		return ctx, func() {}, nil
	}
	held, release, err = h.lease.Hold(ctx, p.block, func(blocked weed.Blocked) error {
		if h.link.over() {
			return notSent(session.ErrNotReady) // A worker that connects again waits for this end.
		}
		return waits(blocked)
	})
	switch {
	case errors.Is(err, errSilent):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("the shell lease of the cluster: %w", err)
	}
	return held, release, nil
}

type watcher struct {
	found    func(id string, next *page) error
	advanced func(*session.Advanced)
	printed  func(lines []byte)
	alive    func()
	// release is called when the worker has ended the request, possibly after await has returned.
	release func()
	// harmful reports whether a cancel could destroy data now; nil means never.
	harmful func() bool
}

// ask sends a request and awaits its end. It retries with a full worker for [roomWait].
func (h *handler) ask(ctx context.Context, kind string, send func(s *session.Session, now time.Time, id string) error, w watcher) (*session.Ended, error) {
	began := time.Now()
	for wait := firstWait; ; wait *= 2 {
		id, c, err := h.link.begin(kind, send)
		if err != nil {
			w.release()
			return nil, notSent(err)
		}
		ended, err := h.await(ctx, id, c, w)
		if ended == nil {
			h.link.afterwards(id, c, w.release)
			return nil, err
		}
		if ended.Outcome != session.AtCapacity || time.Since(began) > roomWait {
			w.release()
			return ended, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			w.release()
			return ended, context.Cause(ctx)
		}
	}
}

func untilEnd(ctx context.Context) time.Duration {
	if end, limited := ctx.Deadline(); limited {
		return time.Until(end)
	}
	return 0
}

// await returns when the request has ended. It is canceled when ctx ends (for example, after a lost lease) or when
// found returns an error. A harmful cancel is not sent: the worker undoes a move by deleting its target, even if the
// source is deleted already.
func (h *handler) await(ctx context.Context, id string, c *call, w watcher) (*session.Ended, error) {
	var failed error
	var grace, again, harmless <-chan time.Time
	done := ctx.Done()
	cancel := func() {
		h.link.cancel(id, failed.Error())
		again = time.After(cancelAgain)
	}
	stop := func(reason error) {
		failed, done = reason, nil
		w.found = func(id string, dropped *page) error { h.link.consume(id, dropped); return nil }
		grace = time.After(CancelGrace)
		cancel()
	}
	for {
		n := c.take()
		if n.alive && w.alive != nil {
			w.alive()
		}
		if n.printed != nil && w.printed != nil {
			w.printed(n.printed)
		}
		if n.advanced != nil && w.advanced != nil {
			w.advanced(n.advanced)
		}
		switch {
		case n.page != nil:
			if w.found == nil {
				continue
			}
			if err := w.found(id, n.page); err != nil && failed == nil {
				stop(err)
			}
		case n.ended != nil:
			return n.ended, outcome(n.ended, failed)
		default:
			select {
			case <-c.news:
			case <-done:
				done = nil
				harmless = time.After(0)
			case <-harmless:
				if w.harmful != nil && w.harmful() {
					harmless = time.After(harmfulAgain)
					continue
				}
				harmless = nil
				stop(context.Cause(ctx))
			case <-again:
				cancel()
			case <-grace:
				return nil, fmt.Errorf("the worker did not end it within %s: %w", CancelGrace, failed)
			}
		}
	}
}

func outcome(ended *session.Ended, stopped error) error {
	switch ended.Outcome {
	case session.Succeeded:
		if errors.Is(stopped, jobtype.ErrSinkFull) {
			return stopped
		}
		return nil // Finished work counts.
	case session.AtCapacity:
		return fmt.Errorf("%w: %s", jobtype.ErrAtCapacity, ended.Message)
	case session.Lost:
		return fmt.Errorf("%w: %s", jobtype.ErrExecutorLost, ended.Message)
	case session.Canceled:
		if stopped != nil {
			return stopped
		}
	case session.Failed, session.Rejected, session.Flooded:
	}
	if stopped != nil {
		return fmt.Errorf("%w: %s", stopped, ended.Message)
	}
	if ended.Message == "" {
		return errors.New("the worker failed without a reason")
	}
	return errors.New(ended.Message)
}

func notSent(err error) error {
	return fmt.Errorf("%w: %w", jobtype.ErrAtCapacity, err)
}
