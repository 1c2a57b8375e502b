package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	// silentAfter is the silence from which a job counts as silent: several heartbeats of the slowest kind.
	silentAfter = 30 * time.Second
	summaryJobs = 5
)

type activity struct {
	// Running has the jobs that a worker has begun. InFlight also counts the jobs on their way to one.
	Running  []jobActivity `json:"running"`
	InFlight int           `json:"in_flight"`
	// Silent counts running jobs without a recent report.
	Silent  int             `json:"silent"`
	Waiting []waitingReason `json:"waiting"`
}

type jobActivity struct {
	Job      string    `json:"job"`
	Worker   string    `json:"worker,omitempty"`
	Started  time.Time `json:"started_at,omitzero"`
	Progress string    `json:"progress,omitempty"`
	// SilentSince is the last report of a silent job, Until the time when the job counts as lost.
	SilentSince time.Time `json:"silent_since,omitzero"`
	Until       time.Time `json:"silent_until,omitzero"`
}

type waitingReason struct {
	Code   string `json:"code"`
	Object string `json:"object,omitempty"`
	Detail string `json:"detail,omitempty"`
	Count  int    `json:"count"`
}

func activityOf(ctx context.Context, client *starter.Client, e explainer.Explanation, now time.Time) *activity {
	if e.Run == nil || !e.Run.Open() {
		return nil
	}
	found := runningNow(e.Run.Active, e.Item, now)
	if group := e.Run.Group; group != nil {
		found.InFlight, found.Waiting = max(found.InFlight, group.Running), waitingFor(*group)
	}
	if found.Silent > 0 {
		found.lostAfter(patience(ctx, client, *e.Run))
	}
	return &found
}

// patience is the silence after which a job of the run counts as lost; 0: unknown.
func patience(ctx context.Context, client *starter.Client, run starter.Snapshot) time.Duration {
	if run.Group != nil {
		return run.Group.Policy.HeartbeatTimeout.Std()
	}
	known, err := jobtypes.Of(client).Get(ctx, run.JobType)
	if err != nil {
		return 0
	}
	return known.Spec.Policy.HeartbeatTimeout.Std()
}

// lostAfter sets when the silent jobs count as lost.
func (a *activity) lostAfter(patience time.Duration) {
	for i := range a.Running {
		if job := &a.Running[i]; patience > 0 && !job.SilentSince.IsZero() {
			job.Until = job.SilentSince.Add(patience)
		}
	}
}

func runningNow(active []starter.ActiveItem, one string, now time.Time) activity {
	found := activity{Running: []jobActivity{}, Waiting: []waitingReason{}}
	for _, job := range active {
		if !job.Started || one != "" && job.ID != one {
			continue
		}
		shown := jobActivity{
			Job: job.ID, Worker: job.Worker(), Started: job.StartedAt,
			Progress: strings.TrimSpace(runs.PercentOf(job) + " " + runs.MessageOf(job)),
		}
		last := job.BeatAt
		if last.IsZero() {
			last = job.StartedAt
		}
		if !last.IsZero() && now.Sub(last) >= silentAfter {
			shown.SilentSince = last
			found.Silent++
		}
		found.Running = append(found.Running, shown)
	}
	found.InFlight = len(found.Running)
	slices.SortStableFunc(found.Running, func(a, b jobActivity) int {
		if a.SilentSince.IsZero() != b.SilentSince.IsZero() {
			return cmp.Compare(b.SilentSince.Unix(), a.SilentSince.Unix())
		}
		return cmp.Or(a.SilentSince.Compare(b.SilentSince), a.Started.Compare(b.Started))
	})
	return found
}

func waitingFor(group contract.GroupStatus) []waitingReason {
	waiting, rest := []waitingReason{}, group.Pending
	add := func(reason waitingReason) {
		at := slices.IndexFunc(waiting, func(w waitingReason) bool { return w.Code == reason.Code && w.Object == reason.Object })
		if at < 0 {
			waiting = append(waiting, reason)
			return
		}
		waiting[at].Count += reason.Count
	}
	for _, wait := range group.Waits {
		if wait.Items == 0 {
			continue
		}
		rest -= wait.Items
		reason := waitingReason{Code: wait.Code, Object: wait.Object, Count: wait.Items}
		if explain.OwnPace(contract.Code(wait.Code)) { // The detail names the setting, and nothing else does.
			reason.Detail = wait.Detail
		}
		if reason.Code == string(contract.CodeResources) { // Its object is the job's own request.
			reason.Object = ""
		}
		add(reason)
	}
	if rest > 0 {
		add(waitingReason{Code: "QUEUED", Count: rest})
	}
	slices.SortStableFunc(waiting, func(a, b waitingReason) int { return cmp.Compare(b.Count, a.Count) })
	return waiting
}

func (a *activity) lines(now time.Time) []string {
	if a == nil || a.InFlight+len(a.Waiting) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d running", a.InFlight)
	if a.Silent > 0 {
		head += fmt.Sprintf(", %d of them silent", a.Silent)
	}
	for _, waiting := range a.Waiting {
		object := ""
		if waiting.Object != "" {
			object = "(" + waiting.Object + ")"
		}
		if waiting.Detail != "" {
			object += ": " + waiting.Detail
		}
		verb := "wait"
		if waiting.Count == 1 {
			verb = "waits"
		}
		head += fmt.Sprintf("; %d %s for %s%s", waiting.Count, verb, waiting.Code, object)
	}
	lines := []string{head}
	for i, job := range a.Running {
		if i == summaryJobs {
			lines = append(lines, fmt.Sprintf("  and %d more", a.InFlight-i))
			break
		}
		line := "  " + job.Job + " on " + cmp.Or(job.Worker, "an unknown worker")
		if !job.Started.IsZero() {
			line += " for " + ui.Span(now.Sub(job.Started))
		}
		if job.Progress != "" {
			line += ": " + job.Progress
		}
		if !job.SilentSince.IsZero() {
			line += "; silent for " + ui.Span(now.Sub(job.SilentSince))
			if !job.Until.IsZero() {
				line += ", lost " + ui.Ago(job.Until, now) + " unless it reports"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// explainKey explains the job of an open run with this dedupe key, if no other thing has the name.
func explainKey(ctx context.Context, client *starter.Client, key string, unknown error) (explainer.Explanation, error) {
	if _, ok := errors.AsType[*explainer.UnknownThingError](unknown); !ok {
		if !errors.Is(unknown, starter.ErrNotFound) {
			return explainer.Explanation{}, unknown
		}
	}
	open, err := client.Runs().List(ctx, starter.RunFilter{Kind: starter.KindGroup, Running: true, Limit: maxKeyRuns})
	if err != nil {
		return explainer.Explanation{}, unknown
	}
	for _, run := range open {
		if job, err := client.Runs().ItemByKey(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, key); err == nil {
			return explainer.Explain(ctx, client, job.Ref().String())
		}
	}
	return explainer.Explanation{}, unknown
}

const maxKeyRuns = 20
