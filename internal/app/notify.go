package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/roundsman/roundsman/activities/notify"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	decide "github.com/roundsman/roundsman/internal/engine/notify"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func newNotifier(client *starter.Client, told config.Notify, shim shimLine, log *slog.Logger) *notify.Activities {
	return notify.New(notify.Options{
		Source: notifySource{client}, Receivers: told.Receivers, Rules: told.Rules, Namespace: client.Namespace(), Log: log, Shim: shim,
	})
}

const (
	// maxEnded and maxWaiting bound the runs of one look.
	maxEnded   = 50_000
	maxWaiting = 500
)

type notifySource struct{ client *starter.Client }

// TypeRules implements notify.Source.
func (s notifySource) TypeRules(ctx context.Context) ([]decide.TypeRules, error) {
	types, err := jobtypes.Of(s.client).List(ctx)
	if err != nil {
		return nil, err
	}
	rules := make([]decide.TypeRules, len(types))
	for i, known := range types {
		rules[i] = decide.TypeRules{Name: known.Name, Disabled: known.DisabledByConfig, Rules: known.Spec.Notify}
	}
	return rules, nil
}

// Ended implements notify.Source. Visibility lists the latest starts first, so a full list may lack any end. Ended halves the span until the list
// fits.
func (s notifySource) Ended(ctx context.Context, since time.Time) (ended []decide.Ended, until time.Time, err error) {
	filter := starter.RunFilter{EndedSince: since, Limit: maxEnded}
	runs, err := s.client.Runs().List(ctx, filter)
	for span := time.Since(since) / 2; err == nil && len(runs) >= maxEnded; span /= 2 {
		if span < decide.Overlap {
			return nil, until, fmt.Errorf("more than %d runs ended within %s", maxEnded, 2*span)
		}
		until = since.Add(span)
		filter.EndedUntil = until
		runs, err = s.client.Runs().List(ctx, filter)
	}
	for _, run := range runs {
		if !run.Open() {
			ended = append(ended, decide.Ended{
				JobType: run.JobType, DAG: run.DAG, Run: run.WorkflowID, RunID: run.RunID, Outcome: run.Outcome, Start: run.Started, End: run.Ended,
			})
		}
	}
	return ended, until, err
}

// Missed implements notify.Source.
func (s notifySource) Missed(ctx context.Context, of decide.Ended) ([]string, error) {
	shown, err := s.client.Runs().Show(ctx, starter.RunRef{WorkflowID: of.Run, RunID: of.RunID})
	if err != nil || shown.Result == nil {
		return nil, err
	}
	return shown.Result.OnlyMissed(), nil
}

// Approvals implements notify.Source. It skips a run that does not answer.
func (s notifySource) Approvals(ctx context.Context) (decide.Approvals, error) {
	runs, err := s.client.Runs().List(ctx, starter.RunFilter{Kind: starter.KindDAG, Running: true, SubDAGs: true, Limit: maxWaiting})
	if err != nil {
		return decide.Approvals{}, err
	}
	var found decide.Approvals
	for _, run := range runs {
		shown, err := s.client.Runs().Show(ctx, run.RunRef)
		switch {
		case err != nil, shown.Open() && shown.DAGStatus == nil:
			found.Unanswered = append(found.Unanswered, run.WorkflowID)
			continue
		case shown.DAGStatus == nil:
			continue // It has ended meanwhile.
		}
		for _, task := range shown.DAGStatus.Approvals {
			found.Wanted = append(found.Wanted, decide.Approval{
				JobType: groupOf(run.WorkflowID), DAG: shown.DAGStatus.DAG, Run: run.WorkflowID, RunID: run.RunID, Task: task.ID,
				Prompt: task.Waiting, Since: task.StartedAt,
			})
		}
	}
	return found, ctx.Err()
}

func groupOf(workflowID string) string {
	group, _, child := strings.Cut(strings.TrimPrefix(workflowID, "group/"), "/")
	if !child || !strings.HasPrefix(workflowID, "group/") {
		return ""
	}
	return starter.JobTypeOfRun(group)
}

// Lost implements notify.Source.
func (s notifySource) Lost(ctx context.Context) ([]decide.Worker, error) {
	known, err := s.client.Workers().List(ctx, contract.WorkersQueryInput{})
	if err != nil {
		return nil, err
	}
	var lost []decide.Worker
	for _, worker := range known {
		if worker.State == contract.WorkerOffline && worker.Cause.Code == contract.WorkerSilent {
			lost = append(lost, decide.Worker{ID: worker.Registration.ID, Instance: worker.Registration.Instance, Seen: worker.LastBeat})
		}
		if t := worker.Trouble; t != nil && worker.State != contract.WorkerDeleted {
			lost = append(lost, decide.Worker{ID: worker.Registration.ID, Instance: worker.Registration.Instance, Seen: t.Since, Trouble: t.Reason})
		}
	}
	return lost, nil
}

// LastSuccess implements notify.Source.
func (s notifySource) LastSuccess(ctx context.Context, jobType string) (time.Time, error) {
	runs, err := s.client.Runs().List(ctx, starter.RunFilter{JobType: jobType, Outcomes: []contract.Outcome{contract.OutcomeCompleted}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return time.Time{}, err
	}
	return runs[0].Ended, nil
}

// Describe implements notify.Source. It omits unavailable facts.
func (s notifySource) Describe(ctx context.Context, of *contract.Notification) {
	if of.EndedAt.IsZero() {
		return
	}
	shown, err := s.client.Runs().Show(ctx, starter.RunRef{WorkflowID: of.Run, RunID: of.RunID})
	if err != nil {
		return
	}
	of.Counts, of.Detail = shown.Counts, cmp.Or(shown.Reason, shown.Failure)
	if of.Event == contract.NotifyWarning && of.Counts[contract.JobWarning] > 0 {
		ref := starter.RunRef{WorkflowID: of.Run, RunID: of.RunID}
		if items, _, err := s.client.Runs().Items(ctx, ref, starter.ItemFilter{States: []string{contract.JobWarning}, Limit: 1}); err == nil && len(items) > 0 {
			of.Detail = cmp.Or(items[0].DedupeKey, items[0].ID) + ": " + items[0].Error
		}
	}
	if len(shown.Failed) > 0 {
		of.Detail = strings.TrimPrefix(cmp.Or(shown.Failed[0].DedupeKey, shown.Failed[0].JobID)+": "+shown.Failed[0].Message, ": ")
	}
}
