package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestTransitions(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seven, eight := contract.WorkerProcess{Host: "host-1", PID: 7}, contract.WorkerProcess{Host: "host-2", PID: 8}
	told := map[contract.WorkerEvent]bool{}
	for _, tt := range []struct {
		of   contract.WorkerTransition
		want string
	}{
		{contract.WorkerTransition{Code: contract.WorkerRegistered}, "registered"},
		{contract.WorkerTransition{Code: contract.WorkerRegistered, From: contract.WorkerDeleted}, "registered again after it was deleted"},
		{contract.WorkerTransition{Code: contract.WorkerRegistered, From: contract.WorkerOffline}, "registered again"},
		{contract.WorkerTransition{Code: contract.WorkerRegistered, From: contract.WorkerOffline, Process: eight}, "registered as a new process 8 on host-2"},
		{contract.WorkerTransition{Code: contract.WorkerReplaced, Process: eight, Former: seven}, "process 8 on host-2 replaces 7 on host-1, whose heartbeat is stale"},
		{contract.WorkerTransition{Code: contract.WorkerTakenOver, Process: eight, Former: seven}, "process 8 on host-2 took over from 7 on host-1, which is fenced"},
		{contract.WorkerTransition{Code: contract.WorkerChanged}, "registered with other labels, capabilities or slots"},
		{contract.WorkerTransition{Code: contract.WorkerSilent, Since: since}, "no heartbeat for 120 s (last at 2026-03-01T12:00:00Z)"},
		{contract.WorkerTransition{Code: contract.WorkerBack, Since: since, From: contract.WorkerOffline}, "its heartbeat is back after 120 s OFFLINE"},
		{contract.WorkerTransition{Code: contract.WorkerUnregistered}, "unregistered"},
		{contract.WorkerTransition{Code: contract.WorkerShuttingDown}, "its process is shutting down"},
		{contract.WorkerTransition{Code: contract.WorkerModeSet, Mode: contract.ModeDraining, Note: "disk swap"}, "draining: disk swap"},
		{contract.WorkerTransition{Code: contract.WorkerModeSet}, "uncordoned"},
		{contract.WorkerTransition{Code: contract.WorkerResized, Caps: contract.WorkerCaps{MaxDetect: 1, MaxExecute: 9}, Note: "more memory"}, "resized to 1 detect, 9 execute: more memory"},
		{contract.WorkerTransition{Code: contract.WorkerRemoved, Note: "sold"}, "removed: sold"},
		{contract.WorkerTransition{Code: contract.WorkerRemoved, Since: since}, "cleaned up after 120 s OFFLINE"},
		{contract.WorkerTransition{Code: contract.WorkerExpired, Since: since}, "OFFLINE for 120 s"},
		{contract.WorkerTransition{Code: contract.WorkerSuspect, Note: "CANNOT_START: too many open files"}, "suspect: CANNOT_START: too many open files"},
		{contract.WorkerTransition{Code: contract.WorkerCleared, Since: since}, "no longer suspect after 120 s"},
		{contract.WorkerTransition{Code: "NEW"}, "NEW"},
		{contract.WorkerTransition{Code: contract.WorkerModeSet, Reason: "drained by hand"}, "drained by hand"},
		{contract.WorkerTransition{}, ""},
	} {
		told[tt.of.Code] = true
		tt.of.At = since.Add(2*time.Minute + time.Millisecond)
		assert.Equal(t, tt.want, Transition(tt.of))
	}
	for _, code := range contract.WorkerEvents() {
		assert.True(t, told[code], code)
	}
	brief := contract.WorkerTransition{Code: contract.WorkerExpired, Since: since, At: since.Add(1500 * time.Microsecond)}
	assert.Equal(t, "OFFLINE for 1 ms", Transition(brief))
}

func TestAWorkerTellsAllItsTransitions(t *testing.T) {
	t.Parallel()
	one := contract.WorkerTransition{Code: contract.WorkerModeSet, Mode: contract.ModeCordoned}
	w := contract.WorkerDetail{Cause: one, Kept: one, Transitions: []contract.WorkerTransition{{Code: contract.WorkerRegistered}, one}}
	Worker(&w)
	assert.Equal(t, []string{"cordoned", "cordoned", "registered", "cordoned"}, []string{w.Cause.Reason, w.Kept.Reason, w.Transitions[0].Reason, w.Transitions[1].Reason})
}

func TestRejections(t *testing.T) {
	t.Parallel()
	for code, want := range map[contract.WorkerFault]string{
		contract.WorkerUnknown:       "worker \"a\" is not registered; `roundsman workers` shows those that are",
		contract.WorkerActionUnknown: `action "stop" is unknown; use drain, cordon, uncordon or remove`,
		contract.WorkerAlive:         `worker "a" is alive and would register again within a minute; stop its process (7 on host-1) first, or cordon it`,
		contract.WorkerDeparted:      "process 7 on host-1 has unregistered: a new process can register",
	} {
		assert.Equal(t, want, Rejection(contract.WorkerRejection{Code: code, ID: "a", Action: "stop", Process: contract.WorkerProcess{Host: "host-1", PID: 7}}))
	}
}
