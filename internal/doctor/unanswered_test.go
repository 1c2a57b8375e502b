package doctor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/silent"
)

// TestAServerThatDoesNotAnswer is reported in words for operators, within the time of its requests. They have no text of
// Go, and the next step.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, described := range map[string]bool{"at all": false, "but for its namespace": true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := starter.New(&silent.Server{Described: described}, "", nil)
			checks := append(Examine(t.Context(), c), CheckRetention(t.Context(), c, time.Hour, began))
			if !described {
				require.Len(t, checks, 2, "one finding is enough")
			}
			for _, check := range checks {
				assert.NotContains(t, check.Found, "deadline", "%s: %s", name, check.Name)
				assert.Equal(t, check.Verdict != VerdictOK, check.Fix != "", "%s: %s", name, check.Name)
				assert.NotEqual(t, contract.CodeControlPlaneDown, check.Code, "%s: the server lists no polls, a control plane may run", name)
			}
			assert.True(t, Failed(checks))
			assert.LessOrEqual(t, time.Since(began), 3*time.Minute, name)
		})
	}
}

// TestAControlPlaneThatAnswersNoQuery is not reported as absent if it lives.
func TestAControlPlaneThatAnswersNoQuery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		polled, beat time.Duration
		code         contract.Code
		found, fix   string
	}{
		"it polls and beats":     {20 * time.Second, time.Second, "", "it is overloaded, or the server passes no queries on", "look at the load and the log of the control plane"},
		"it has just ended":      {30 * time.Second, time.Minute, contract.CodeControlPlaneDown, "it is slow or has just ended", "`roundsman server`"},
		"it ended long ago":      {time.Hour, time.Hour, contract.CodeControlPlaneDown, "no control plane serves this namespace", "`roundsman server`"},
		"the polls are unlisted": {0, 0, "", "whether a control plane runs is unknown", "look at the load, the disk and the log of the server"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &silent.Server{Described: true}
			if c.polled > 0 {
				// The query is waited for first.
				now := time.Now().Add(30 * time.Second)
				server.Polled, server.Beat = now.Add(-c.polled), now.Add(-c.beat)
			}
			plane := checkControlPlane(t.Context(), starter.New(server, "", nil))[0]
			assert.Equal(t, VerdictFail, plane.Verdict, name)
			assert.Equal(t, c.code, plane.Code, name)
			assert.Contains(t, plane.Found, c.found, name)
			assert.Contains(t, plane.Fix, c.fix, name)
		})
	}
}

// An answer of the server is its own text; one of gRPC is translated.
func TestTheCauseOfAFailedRequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"database or disk is full (13)": "database or disk is full (13)",
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`: "dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		assert.Equal(t, want, why(serviceerror.NewUnavailable(text)))
	}
	assert.Equal(t, "no", why(serviceerror.NewInternal("no")))
}
