package group

import (
	"fmt"
	"testing"

	"github.com/roundsman/roundsman/internal/engine/run"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/jobtype"
)

// detecting plays a group up to its first detection.
func detecting(t *testing.T) *script {
	t.Helper()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxJobsPerDetection: jobtype.MaxJobsLimit})}, node("a", 1), node("b", 1))
	s.begin()
	require.NotZero(t, s.g.detect.Attempt)
	return s
}

// send is one more page of the detection.
func (s *script) send(page Page) PageAnswer {
	s.t.Helper()
	page.Attempt = s.g.detect.Attempt
	page.Seq = len(s.g.detect.session(page.Attempt).Answers)
	require.NoError(s.t, s.g.CheckPage(page))
	return s.g.TakePage(s.now, page)
}

// TestADetectionIsFullBeforeTheServerRefusesItsPages: 2,000 Updates of one workflow run.
func TestADetectionIsFullBeforeTheServerRefusesItsPages(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(i int) Page{
		"stored apart": func(i int) Page { return Page{Paged: pageOf(fmt.Sprint(i), 2, contract.JobClass{})} },
		"inline":       func(int) Page { return Page{Proposals: make([]jobtype.Proposal, 2)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := detecting(t)
			pages := 1
			for !s.send(page(pages)).Full {
				pages++
				require.Less(t, pages, 1950, "the server would refuse the rest")
			}
			assert.GreaterOrEqual(t, pages, 1800)
			s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Pages: pages, Emitted: 2*pages + 1000, Surplus: 1000})
			assert.Equal(t, 2*pages, s.g.Counts().Accepted)
			assert.Equal(t, 1000, s.g.Counts().Surplus)
			assert.NotEmpty(t, started(s.last), "what was found is done")
		})
	}
}

// TestADetectionIsFullWithItsClasses.
func TestADetectionIsFullWithItsClasses(t *testing.T) {
	t.Parallel()
	s := detecting(t)
	classes := make([]contract.JobClass, backlog.MaxQueues)
	for i := range classes {
		classes[i].Node = fmt.Sprint("n", i)
	}
	require.False(t, s.send(Page{Paged: pageOf("p", len(classes), classes...)}).Full)
	assert.Equal(t, PageAnswer{Surplus: 3, Full: true}, s.send(Page{Paged: pageOf("q", 3, contract.JobClass{Node: "other"})}))
}

// TestADetectionThatIsRepeatedBeginsInAnotherWorkflowRun if its first worker had sent many pages.
func TestADetectionThatIsRepeatedBeginsInAnotherWorkflowRun(t *testing.T) {
	t.Parallel()
	s := detecting(t)
	for i := range 1200 {
		s.send(Page{Paged: pageOf(fmt.Sprint(i), 2, contract.JobClass{})})
	}
	s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Failure: contract.FailureWorkerLost, Message: "it is gone"})
	require.False(t, s.g.detect.running(), "its pages and those before would be more than 2,000")
	require.True(t, s.g.ShouldContinueAsNew())
	s.roll()
	assert.Zero(t, s.g.detect.pages)
	assert.False(t, s.g.ShouldContinueAsNew(), "once is enough")
	s.step(run.Tick{})
	require.True(t, s.g.detect.running())
	s.detected(jobtype.Proposal{})
	assert.Equal(t, 1, s.g.Counts().Accepted)
}
