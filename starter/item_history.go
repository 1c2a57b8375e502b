package starter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	pagestore "github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/starter/attempts"
)

type (
	// ItemHistory lists the attempts and requests of an item.
	ItemHistory = attempts.ItemHistory
	// Attempt is one attempt of an item.
	Attempt = attempts.Attempt
	// ItemRequest is one request of an operator.
	ItemRequest = attempts.ItemRequest
	// Render returns the command line and the params of an attempt.
	Render = attempts.Render
	// Rendered is what an attempt runs on its worker.
	Rendered = attempts.Rendered
)

// ItemDetail is an item with its history.
type ItemDetail struct {
	Item
	ItemHistory
}

// Detail returns an item with its history and the times from it.
func (r Runs) Detail(ctx context.Context, item Item) (ItemDetail, error) {
	history, err := r.History(ctx, item)
	if item.Active != nil && item.Active.Started {
		history.InFlight(item.Worker, item.Active.StartedAt)
	}
	history.Times(&item.StartedAt, &item.EndedAt, item.State)
	return ItemDetail{Item: item, ItemHistory: history}, err
}

// History reads the attempts at an item from the history of its run, for at most answerTimeout.
func (r Runs) History(ctx context.Context, item Item) (ItemHistory, error) {
	found, err := r.Histories(ctx, item.Recorded(), []Item{item})
	return *found[item.ID], err
}

// Recorded is the run whose history has the attempts at the item.
func (i Item) Recorded() RunRef {
	if i.FromRun != "" {
		return RunRef{WorkflowID: i.FromRun}
	}
	return i.Run
}

// Histories is [Runs.History] of several items of one run, which is read once.
func (r Runs) Histories(ctx context.Context, ref RunRef, items []Item) (map[string]*ItemHistory, error) {
	found, err := r.histories(ctx, r.linkOf(ctx, ref, items), items, func(found map[string]*ItemHistory) bool {
		return !slices.ContainsFunc(items, func(item Item) bool { return len(found[item.ID].Attempts) < item.attempts() })
	})
	if err != nil {
		return found, fmt.Errorf("read the attempts at %s from the history of its run: %w", items[0].Ref(), runError(ref, err))
	}
	return found, nil
}

func (i Item) attempts() int {
	if i.Kind == KindJob {
		return i.Attempt
	}
	return max(i.Attempt, 1)
}

const (
	// listedAfter is the time after which the server lists a workflow run.
	listedAfter = time.Minute
	// A workflow run that started later than the item ended costs only one more read.
	clockSkew = 5 * time.Second
)

// linkOf returns the workflow run in which the last item ended: a group of 1,000,000 jobs continues as new a hundred times.
func (r Runs) linkOf(ctx context.Context, ref RunRef, items []Item) RunRef {
	var last time.Time
	for _, item := range items {
		if !item.Ended() || item.EndedAt.IsZero() {
			return ref
		}
		if item.EndedAt.After(last) {
			last = item.EndedAt
		}
	}
	if time.Since(last) < listedAfter {
		return ref
	}
	found, err := r.client.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 1, Query: fmt.Sprintf("WorkflowId = '%s' AND StartTime <= '%s'", strings.ReplaceAll(ref.WorkflowID, "'", "''"), last.Add(clockSkew).UTC().Format(time.RFC3339Nano)),
	})
	if err != nil || len(found.GetExecutions()) == 0 {
		return ref
	}
	return RunRef{WorkflowID: ref.WorkflowID, RunID: found.GetExecutions()[0].GetExecution().GetRunId()}
}

// histories reads from the newest workflow run back until enough returns true. After an error the result is incomplete.
func (r Runs) histories(ctx context.Context, ref RunRef, items []Item, enough func(map[string]*ItemHistory) bool) (map[string]*ItemHistory, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found, named := map[string]*ItemHistory{}, make([]attempts.Item, len(items))
	for i, item := range items {
		found[item.ID], named[i] = &ItemHistory{}, attempts.Item{ID: item.ID, DedupeKey: item.DedupeKey}
	}
	for {
		reader := attempts.NewReader(ref.WorkflowID, named, r.client.render, r.client.logger)
		reader.Proposal = pagestore.ProposalReader(limited, r.client.pages.Get, ref.WorkflowID, pageTimeout)
		err := r.client.readAll(limited, ref, reader)
		for id, before := range reader.Found {
			found[id].Prepend(*before)
		}
		if err != nil || reader.Before == "" || enough(found) {
			for _, one := range found {
				one.Enumerate()
			}
			return found, err
		}
		// Earlier attempts ended before the run continued as new.
		ref.RunID = reader.Before
	}
}

// pageTimeout bounds the wait for pages within answerTimeout, so that the history itself is read.
const pageTimeout = 2 * time.Second

func (c *Client) readAll(ctx context.Context, ref RunRef, reader *attempts.Reader) error {
	history := c.temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return err
		}
		reader.Read(event)
	}
	return nil
}
