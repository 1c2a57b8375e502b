package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

func reading(place string) jobtype.Proposal {
	p := at(place)
	p.DedupeKey, p.Shared = "", []string{"volume/1"}
	return p
}

// TestSharedObjects: readers share an object. A writer waits for all of them, is overtaken a bounded number of
// times, and works alone.
func TestSharedObjects(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	readersGo := s.hold("reading")
	defer readersGo()
	writerGoes := s.hold("writing")
	defer writerGoes()
	spec := siteSpec(t, "readers", "")
	readers := p.submit(spec, "first", reading("reading"), reading("reading"), reading("reading"))
	testsuite.WaitFor(t, 20*time.Second, "three readers work at once", func() bool { return s.present("reading") == 3 })

	writing := at("writing")
	writing.Exclusive = []string{"volume/1"}
	writer := p.submit(siteSpec(t, "writers", ""), "w", writing)
	held := p.explains(writer.WorkflowID+"/job-00001", contract.CodeClaimHeld)
	assert.Contains(t, held.Detail, "group/readers-adhoc-first/job-00001")
	assert.Contains(t, held.Detail, "group/readers-adhoc-first/job-00003")

	// The maximum overtakes the writer. The next reader waits behind it.
	for i := range admission.MaxOvertakes {
		result := p.resultOf(p.submit(spec, fmt.Sprintf("passing-%d", i), reading("passing")))
		require.Equal(t, contract.OutcomeCompleted, result.Outcome)
	}
	late := p.submit(spec, "late", reading("late"))
	behind := p.explains(late.WorkflowID+"/job-00001", contract.CodeClaimHeld)
	assert.Contains(t, behind.Detail, "kept for "+writer.WorkflowID+"/job-00001")

	readersGo()
	testsuite.WaitFor(t, 20*time.Second, "the writer works", func() bool { return s.present("writing") == 1 })
	assert.Zero(t, s.present("reading")+s.present("late"), "alone")
	waits := p.explains(late.WorkflowID+"/job-00001", contract.CodeClaimHeld)
	assert.Equal(t, "held by "+writer.WorkflowID+"/job-00001", waits.Detail)
	writerGoes()
	for _, submitted := range []jobtypes.Submitted{readers, writer, late} {
		assert.Equal(t, contract.OutcomeCompleted, p.resultOf(submitted).Outcome, submitted.WorkflowID)
	}
}
