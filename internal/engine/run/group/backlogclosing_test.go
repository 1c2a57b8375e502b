package group

import (
	"testing"
	"time"

	"github.com/roundsman/roundsman/internal/engine/run"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/jobtype"
)

// pagesUntil plays a group with pages whose window closes after an hour, with room for four jobs at once.
func pagesUntil(t *testing.T, inline []jobtype.Proposal, pages ...*contract.ProposalPage) *script {
	t.Helper()
	s := playUntil(t, wide(jobtype.Policy{}), closing(time.Hour), nil)
	s.g.jobs.Backlog = backlog.New(4)
	attempt, total := s.g.detect.Attempt, len(inline)
	s.g.TakePage(s.now, Page{Attempt: attempt, Proposals: inline})
	for i, p := range pages {
		page := Page{Attempt: attempt, Seq: i + 1, Paged: p}
		require.NoError(t, s.g.CheckPage(page))
		s.g.TakePage(s.now, page)
		total += p.Count
	}
	s.step(DetectionEnded{Attempt: attempt, Pages: 1 + len(pages), Emitted: total})
	return s
}

func lasting(p *contract.ProposalPage, d time.Duration) *contract.ProposalPage {
	p.Estimate = jobtype.Duration(d)
	return p
}

// TestABacklogThatDoesNotFitEndsTheGroup at once: nothing would wake it.
func TestABacklogThatDoesNotFitEndsTheGroup(t *testing.T) {
	t.Parallel()
	s := pagesUntil(t, nil, lasting(pageOf("p", 30, contract.JobClass{}), 2*time.Hour))
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome, reason)
	assert.Contains(t, reason, "30 jobs do not fit")
	assert.Equal(t, 30, s.g.Counts().NotStarted)
}

// TestAStopEndsTheBacklogAtOnce, even by a window that closes with jobs that fit.
func TestAStopEndsTheBacklogAtOnce(t *testing.T) {
	t.Parallel()
	s := pagesUntil(t, nil, lasting(pageOf("p", 30, contract.JobClass{}), time.Minute))
	running := started(s.all)
	require.NotEmpty(t, running)
	s.g.shut(s.g.windowClosed(), s.now)
	assert.Zero(t, s.g.jobs.Backlog.Len())
	s.step(run.Tick{})
	for n := 1; n <= len(running); n++ {
		s.end(n, FailureNone)
	}
	s.outcome()
	assert.Equal(t, 30-len(running), s.g.Counts().NotStarted)
}

// TestJobsThatDoNotFitKeepNoShorterOnesOut of the window.
func TestJobsThatDoNotFitKeepNoShorterOnesOut(t *testing.T) {
	t.Parallel()
	s := pagesUntil(t, []jobtype.Proposal{takes(3 * time.Hour)}, lasting(pageOf("long", 20, contract.JobClass{}), 2*time.Hour), lasting(pageOf("short", 10, contract.JobClass{}), time.Minute))
	for at := 0; len(s.all) > at; at++ { //nolint:intrange // ends of jobs add commands
		if start, ok := s.all[at].(StartJob); ok {
			s.end(start.Item, FailureNone)
		}
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, 10, s.g.Counts().Completed)
	assert.Equal(t, 21, s.g.Counts().NotStarted)
	ended, err := s.g.jobs.Record.Jobs()
	require.NoError(t, err)
	assert.Contains(t, ended[0].Error, "DOES_NOT_FIT_WINDOW: its estimated_runtime of 2 h does not fit")
}
