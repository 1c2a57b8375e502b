package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func receiverOf(name, kind string, failing time.Time) contract.ReceiverView {
	return contract.ReceiverView{ReceiverHealth: contract.ReceiverHealth{Name: name, Kind: kind, FailingSince: failing, Error: "HTTP 503"}, Waiting: 3}
}

func TestReceiversAreJudged(t *testing.T) {
	t.Parallel()
	wants := []jobtypes.JobType{{Name: "scrub", Spec: contract.JobTypeSpec{Notify: []contract.NotifyRule{{To: []string{"ops", "gone"}}}}}}
	for _, c := range []struct {
		receivers []contract.ReceiverView
		types     []jobtypes.JobType
		verdict   Verdict
		found     string
	}{
		{nil, nil, VerdictOK, "no receiver gets failures"},
		{[]contract.ReceiverView{receiverOf("ops", "smtp", time.Time{})}, nil, VerdictOK, "receivers: ops"},
		{[]contract.ReceiverView{receiverOf("ops", "smtp", time.Unix(1_800_000_000, 0))}, wants, VerdictWarn, "RECEIVER_FAILING: not delivered to ops (3 waiting, since"},
		{[]contract.ReceiverView{receiverOf("ops", "smtp", time.Time{})}, wants, VerdictWarn, "NO_RECEIVER: no control plane has gone (of job type scrub)"},
		{[]contract.ReceiverView{receiverOf("gone", "", time.Time{}), receiverOf("ops", "smtp", time.Time{})}, wants, VerdictWarn, "NO_RECEIVER: no control plane has gone"},
	} {
		check := judgeReceivers(contract.NotificationsView{Receivers: c.receivers}, c.types)
		assert.Equal(t, c.verdict, check.Verdict, check.Found)
		assert.Contains(t, check.Line(), c.found)
		assert.NotContains(t, check.Found, "RECEIVE")
		assert.Equal(t, c.verdict == VerdictWarn, check.Fix != "")
	}
}

// Deliveries that waited when an operator ended the notifier are lost.
func TestALostQueueIsTold(t *testing.T) {
	t.Parallel()
	fine := Check{Name: "notifications", Verdict: VerdictOK, Found: "receivers: ops"}
	at := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	terminated := contract.AuditEntry{At: at, Actor: "ann", Object: "notifications", Action: "notifications.terminate"}
	ignored := contract.AuditEntry{At: at.Add(time.Hour), Actor: "bob", Object: "notifications", Action: "notifications.cancel", Code: "CANCEL_IGNORED"}
	other := contract.AuditEntry{At: at, Object: "notifications/x", Action: "notifications.terminate"}
	assert.Equal(t, fine, judgeLoss(fine, []contract.AuditEntry{ignored, other}, "no history"))
	check := judgeLoss(fine, []contract.AuditEntry{terminated, ignored}, "no history")
	assert.Equal(t, VerdictWarn, check.Verdict)
	assert.Equal(t, "NOTIFIER_ENDED: ended at 2026-11-22T02:00:00Z by ann: what waited is lost: no history", check.Line())
	assert.Equal(t, contract.Code("NOTIFIER_ENDED"), check.Code)
	assert.Contains(t, check.Fix, "roundsman audit notifications")
	terminated.Action, terminated.Actor = "notifications.end", ""
	assert.Contains(t, judgeLoss(fine, []contract.AuditEntry{terminated}, "no history").Found, "by a bug")
}
