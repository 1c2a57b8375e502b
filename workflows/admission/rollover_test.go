package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// A run that is due to end waits for a pause between requests. The longer its history, the
// shorter that pause may be.
func TestAdmissionEndsARunInALull(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events int
		every  time.Duration
		asked  int
		ends   bool
	}{
		"short history, asked every 400 ms":  {5_000, 400 * time.Millisecond, 50, false},
		"short history, asked every 1.5 s":   {5_000, 1500 * time.Millisecond, 50, true},
		"longer history, asked every 400 ms": {12_000, 400 * time.Millisecond, 50, true},
		"longer history, asked every 100 ms": {12_000, 100 * time.Millisecond, 50, false},
		"long history, asked every 100 ms":   {24_000, 100 * time.Millisecond, 50, true},
		"long history, asked every 20 ms":    {24_000, 20 * time.Millisecond, 50, false},
		"at the limit":                       {40_000, 20 * time.Millisecond, 50, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newModel(t)
			b.SetContinueAsNewSuggested(true)
			b.SetCurrentHistoryLength(tc.events)
			for i := range tc.asked {
				b.at(time.Millisecond+time.Duration(i)*tc.every, wants("a", contract.AdmissionItem{ID: fmt.Sprint(i), Keys: fmt.Appendf(nil, "%08d", i)}))
			}
			b.play(contract.AdmissionInput{})
			if tc.ends {
				assert.Less(t, len(b.told), tc.asked, "it ends before the last one has asked")
			} else {
				assert.Len(t, b.told, tc.asked, "everybody is answered before")
			}
		})
	}
}

// The server loses signals beyond 10,000 in one run.
func TestAdmissionEndsARunBeforeTheServerRefusesSignals(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	sent := 0
	for i := range 90 {
		b.RegisterDelayedCallback(func() {
			sent++
			for range 100 {
				b.SignalWorkflow(contract.SignalAdmissionRequest, from("a"))
			}
		}, time.Duration(i+1)*time.Second)
	}
	b.play(contract.AdmissionInput{})
	assert.Equal(t, 80, sent)
}

// TestAnEndNotRecordedYetTravels: a run that must end before it has learned how the run before it ended passes the
// task on.
func TestAnEndNotRecordedYetTravels(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.OnActivity(contract.EntityEndActivity, mock.Anything, mock.Anything).Return(contract.EntityEndResult{}, nil).After(time.Hour)
	b.SetContinueAsNewSuggested(true)
	b.SetCurrentHistoryLength(40_000)
	b.at(time.Second, wants("a", contract.AdmissionItem{ID: "lane", Lane: "x"}))
	in, state := b.play(contract.AdmissionInput{Inherited: contract.Inherited{From: "before", Passed: []string{"before"}}})

	second := newModel(t)
	second.ended = contract.EntityEndResult{Passed: []contract.AuditEntry{{ID: "ended|before", Action: "admission.terminate"}}}
	next, _ := second.play(in, state...)
	assert.Equal(t, []string{"before"}, second.passed)
	require.NotEmpty(t, second.audit)
	assert.Equal(t, "admission.terminate", second.audit[0].Action)
	assert.Empty(t, next.Inherited.Passed, "it is recorded")
}
