package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/notify"
	"github.com/roundsman/roundsman/internal/lib/receiver"
)

type source struct {
	faults int
	ended  []notify.Ended
	counts map[string]map[string]int
}

func (s *source) TypeRules(context.Context) ([]notify.TypeRules, error) {
	if s.faults--; s.faults >= 0 {
		return nil, errors.New("the server is away")
	}
	return []notify.TypeRules{{Name: "scrub", Rules: []contract.NotifyRule{{On: []contract.NotifyEvent{contract.NotifyFailed, contract.NotifyWarning}, To: []string{"ops"}}}}}, nil
}

func (s *source) Ended(context.Context, time.Time) ([]notify.Ended, time.Time, error) {
	return s.ended, time.Time{}, nil
}

func (s *source) Missed(context.Context, notify.Ended) ([]string, error) { return nil, nil }

func (s *source) LastSuccess(context.Context, string) (time.Time, error) { return time.Time{}, nil }

func (s *source) Describe(_ context.Context, of *contract.Notification) {
	of.Detail, of.Counts = "two\nlines", s.counts[of.RunID]
}

func (s *source) Approvals(context.Context) (notify.Approvals, error) {
	return notify.Approvals{}, errors.New("nobody wants to know")
}

func (s *source) Lost(context.Context) ([]notify.Worker, error) {
	return nil, errors.New("nobody wants to know")
}

func watchOnce(t *testing.T, from *source, in contract.WatchEventsInput, saved any) (contract.WatchEventsResult, notify.State) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	if saved != nil {
		env.SetHeartbeatDetails(saved)
	}
	Register(env, New(Options{
		Source: from, Receivers: receiver.Receivers{"ops": {Command: &receiver.Command{Argv: []string{"true"}}}}, Namespace: "ns",
		Log: slog.New(slog.DiscardHandler), Interval: 5 * time.Millisecond,
	}))
	value, err := env.ExecuteActivity(contract.WatchEventsActivity, in)
	require.NoError(t, err)
	var result contract.WatchEventsResult
	require.NoError(t, value.Get(&result))
	var state notify.State
	require.NoError(t, json.Unmarshal(result.State, &state))
	return result, state
}

// TestTheWatcherReturnsWithNews: the watcher survives an absent server, and its next attempt
// resumes from the heartbeat.
func TestTheWatcherReturnsWithNews(t *testing.T) {
	t.Parallel()
	known := []contract.ReceiverInfo{{Name: "ops", Kind: receiver.KindCommand}}
	first, state := watchOnce(t, &source{}, contract.WatchEventsInput{}, nil)
	assert.Equal(t, known, first.Receivers, "it returns at once where the notifier does not know the receivers")
	assert.Empty(t, first.Notices)
	failed := notify.Ended{JobType: "scrub", Run: "group/scrub-1", RunID: "r", Outcome: contract.OutcomeFailed, End: time.Now().UTC()}
	in := contract.WatchEventsInput{State: first.State, Receivers: known}
	second, _ := watchOnce(t, &source{faults: 3, ended: []notify.Ended{failed}}, in, state)
	require.Len(t, second.Notices, 1)
	notice := second.Notices[0]
	assert.Equal(t, []string{"failed/group/scrub-1/r", "scrub: failed", "two\nlines", "ns", "roundsman show group/scrub-1"},
		[]string{notice.ID, notice.Title, notice.Detail, notice.Namespace, notice.Command})
	assert.Equal(t, []string{"ops"}, notice.To)
}

func TestOnlyRunsWithWarningsAreReported(t *testing.T) {
	t.Parallel()
	known := []contract.ReceiverInfo{{Name: "ops", Kind: receiver.KindCommand}}
	first, state := watchOnce(t, &source{}, contract.WatchEventsInput{}, nil)
	from := &source{counts: map[string]map[string]int{"clean": {"completed": 3}, "odd": {"completed": 1, contract.JobWarning: 2}}}
	for _, id := range []string{"clean", "odd", "unread"} {
		from.ended = append(from.ended, notify.Ended{JobType: "scrub", Run: "group/scrub-" + id, RunID: id, Outcome: contract.OutcomeCompleted, End: time.Now().UTC()})
	}
	second, _ := watchOnce(t, from, contract.WatchEventsInput{State: first.State, Receivers: known}, state)
	var titles []string
	for _, notice := range second.Notices {
		titles = append(titles, notice.Title)
	}
	assert.Equal(t, []string{"scrub: completed, 2 with a warning", "scrub: completed; whether with a warning could not be read"}, titles)
}

func TestAJobWithAWarningIsCountedAsDone(t *testing.T) {
	t.Parallel()
	from := &source{counts: map[string]map[string]int{"1": {"completed": 1, "failed": 1, contract.JobWarning: 2}}}
	first, state := watchOnce(t, from, contract.WatchEventsInput{}, nil)
	from.ended = []notify.Ended{{JobType: "scrub", Run: "group/scrub-1", RunID: "1", Outcome: contract.OutcomeFailed, End: time.Now().UTC()}}
	second, _ := watchOnce(t, from, contract.WatchEventsInput{State: first.State, Receivers: []contract.ReceiverInfo{{Name: "ops", Kind: receiver.KindCommand}}}, state)
	require.Len(t, second.Notices, 1)
	assert.Equal(t, "scrub: failed, 1 failed, 3 completed", second.Notices[0].Title)
}
