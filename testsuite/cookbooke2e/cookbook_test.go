package cookbooke2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestCookbook runs every recipe. A recipe without a test is a failure.
func TestCookbook(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, recipe){
		"A nightly check on every node": nightlyCheck,
		"A rolling restart":             rollingRestart,
		"Alert me":                      alertMe,
		"Move a data center":            moveDataCenter,
	}
	for _, r := range recipesOf(t, "cookbook.md") {
		run, known := tests[r.title]
		delete(tests, r.title)
		if assert.True(t, known, "no test runs the recipe %q", r.title) {
			t.Run(r.title, func(t *testing.T) {
				t.Parallel()
				run(t, r)
			})
		}
	}
	assert.Empty(t, tests, "these recipes are not in the cookbook")
}

// nightlyCheck: exactly the workers with the label run it, and the outcome names the absent one.
func nightlyCheck(t *testing.T, r recipe) {
	k := newKitchen(t, "smartctl")
	k.open("other")
	k.worker("store-1", "--labels", "role=storage")
	gone := k.worker("store-2", "--labels", "role=storage")
	k.AwaitFresh("store-1", "store-2")
	k.Apply(r.documents[0])
	result := k.Result(k.Begin("disk-check"))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	ended := slices.DeleteFunc(k.journal(), func(line string) bool { return !strings.Contains(line, " ends@") })
	assert.ElementsMatch(t, []string{"smartctl --health --all /dev/sda ends@store-1", "smartctl --health --all /dev/sda ends@store-2"}, ended)

	gone.Kill()
	k.Await("store-2", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	result = k.Result(k.Begin("disk-check"))
	assert.Len(t, k.done(), 3, "once more on store-1")
	assert.Contains(t, result.Reason, "store-2", "%+v", result)
}

// rollingRestart: a node's check, repeated if needed, precedes the drain of the next node. A node that does not
// come back stops the rest, and dag retry continues there.
func rollingRestart(t *testing.T, r recipe) {
	k := newKitchen(t, "drain-node", "systemctl", "check-node")
	k.open("web-1", "web-2", "web-3")
	k.write("rolling-restart.yaml", shortened(t, r.documents[0], "backoff: 10s", "backoff: 100ms"))

	k.fail("check-node web-1", 2) // A node needs a moment: its check is repeated.
	k.fail("check-node web-2", 6) // As many times as the recipe checks.
	require.Equal(t, ui.ExitFailed, k.runs(r, "start rolling-restart.yaml -w"))
	first := []string{
		"drain-node web-1", "systemctl restart web", "check-node web-1", "check-node web-1", "check-node web-1",
		"drain-node web-2", "systemctl restart web", "check-node web-2", "check-node web-2", "check-node web-2", "check-node web-2", "check-node web-2", "check-node web-2",
	}
	require.Equal(t, first, k.begun(), "web-3 is not touched")
	assert.Equal(t, []string{"web-1", "web-2"}, k.restarted(), "each restart is on its node")

	require.Equal(t, ui.ExitOK, k.runs(r, "retry rolling-restart"))
	require.Equal(t, []string{"check-node web-2", "drain-node web-3", "systemctl restart web", "check-node web-3"}, k.begun()[len(first):])
	before := len(k.begun())
	require.Equal(t, ui.ExitOK, k.runs(r, `start rolling-restart.yaml -p 'hosts=["web-3"]'`))
	assert.Equal(t, []string{"drain-node web-3", "systemctl restart web", "check-node web-3"}, k.begun()[before:])
}

// restarted returns the workers of the restarts.
func (k *kitchen) restarted() (workers []string) {
	for _, line := range k.journal() {
		if id, is := strings.CutPrefix(line, "systemctl restart web begins@"); is {
			workers = append(workers, id)
		}
	}
	return workers
}

// alertMe: the test delivery and a failed run reach the receiver.
func alertMe(t *testing.T, r recipe) {
	heard := make(chan string, 100)
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body) // A broken request has no body.
		heard <- string(body)
	}))
	t.Cleanup(chat.Close)
	k := newKitchen(t, "backup")
	url := filepath.Join(k.Dir, "chat.url")
	k.write("chat.url", chat.URL)
	// A receiver on this machine needs allow_private, which the recipe lacks.
	k.write("fleet.yaml", sites.Scaled+strings.TrimPrefix(shortened(t, r.documents[0], "/etc/roundsman/chat.url}", url+"}, allow_private: true"), "version: 1\n"))
	k.open("node-a")
	expect := func(what string) {
		t.Helper()
		for {
			select {
			case body := <-heard:
				if strings.Contains(body, what) {
					return
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("nothing was delivered about %q", what)
			}
		}
	}
	testsuite.WaitFor(t, time.Minute, "the control plane has named its receivers", func() bool {
		return k.runs(r, "receivers --test ops") == ui.ExitOK
	})
	expect(`"text"`)
	k.fail("backup", 1)
	k.write("backup.yaml", "version: 1\nname: backup\ntasks: [{id: dump, command: [backup]}]\n")
	require.Equal(t, ui.ExitFailed, k.Start("start", "-w", filepath.Join(k.Dir, "backup.yaml")).Code(t, time.Minute))
	expect("backup: failed")
	require.Equal(t, ui.ExitOK, k.Start("start", "-w", filepath.Join(k.Dir, "backup.yaml")).Code(t, time.Minute))
	expect("backup")
}

// moveDataCenter: no rack is copied before the approval, and two are copied at a time. A failed rack does not
// affect the others, and `retry` repeats only that rack.
func moveDataCenter(t *testing.T, r recipe) {
	k := newKitchen(t, "set-maintenance", "copy-rack", "verify-rack")
	k.open("node-a", "node-b")
	k.write("move-dc.yaml", r.documents[0])
	var releases []func()
	for _, rack := range []string{"r1", "r2", "r3", "r4"} {
		releases = append(releases, k.hold("copy-rack "+rack+" fra-2"))
	}
	k.fail("verify-rack r2 fra-2", 1)
	require.Equal(t, ui.ExitOK, k.runs(r, "start move-dc.yaml"))
	testsuite.WaitFor(t, time.Minute, "the run waits for a person", func() bool {
		p := k.line(r, "explain move-dc")
		return p.Code(t, time.Minute) == ui.ExitOK && strings.Contains(p.Stdout.String(), "Move to fra-2?")
	})
	require.Equal(t, []string{"set-maintenance on"}, k.begun())
	require.Equal(t, ui.ExitOK, k.runs(r, "approve move-dc/go"))
	testsuite.WaitFor(t, time.Minute, "two racks are copied, and two wait", func() bool {
		status := k.shown("move-dc").DAGStatus
		return status != nil && status.Counts["running"] == 2 && status.Counts["ready"] == 2 && len(k.begun()) == 3
	})
	for _, release := range releases {
		release()
	}
	testsuite.WaitFor(t, time.Minute, "the run is held", func() bool {
		return k.shown("move-dc").Phase == "held"
	})
	assert.Equal(t, 2, k.worst("copy-rack"))
	before := k.begun()
	for _, rack := range []string{"r1", "r2", "r3", "r4"} {
		copied, verified := slices.Index(before, "copy-rack "+rack+" fra-2"), slices.Index(before, "verify-rack "+rack+" fra-2")
		assert.Less(t, copied, verified, rack)
		assert.Positive(t, copied, rack)
	}
	require.Equal(t, "set-maintenance off", before[len(before)-1], "it is thawed last, also after a failure")
	require.Equal(t, ui.ExitOK, k.runs(r, "retry move-dc"))
	testsuite.WaitFor(t, time.Minute, "the run ends", func() bool { return !k.shown("move-dc").Open() })
	assert.Equal(t, []string{"verify-rack r2 fra-2"}, k.begun()[len(before):], "that rack alone is repeated")
}

// shown is the newest run of a DAG.
func (k *kitchen) shown(name string) starter.Snapshot {
	k.T.Helper()
	ref, err := refs.Of(k.Client).DAG(k.T.Context(), name)
	require.NoError(k.T, err)
	shown, err := k.Client.Runs().Show(k.T.Context(), ref)
	require.NoError(k.T, err)
	return shown
}

// TestChains runs the two rolling restarts of docs/dag.md. Over params one host is finished before the next one
// begins. Over a result at most two are in progress. A failed check stops the hosts that have not begun.
func TestChains(t *testing.T) {
	t.Parallel()
	var found []string
	for _, r := range recipesOf(t, "dag.md") {
		found = append(found, r.named("rolling-restart")...)
	}
	require.Len(t, found, 2)
	start := func(t *testing.T, text, failing string) *kitchen {
		k := newKitchen(t, "list-hosts", "drain", "restart", "check", "report")
		k.open("web-1", "web-2", "web-3", "web-4")
		k.write("rolling.yaml", text)
		k.write(filepath.Join("say", "drain"), `{"port": "80"}`)
		k.write(filepath.Join("say", "list-hosts"), `{"hosts": ["web-1", "web-2", "web-3", "web-4"], "token": "t"}`)
		k.fail(failing, 1)
		return k
	}
	t.Run("params", func(t *testing.T) {
		t.Parallel()
		k := start(t, found[0], "check web-2")
		require.Equal(t, ui.ExitFailed, k.Start("start", "-w", filepath.Join(k.Dir, "rolling.yaml")).Code(t, 3*time.Minute))
		assert.Equal(t, []string{"drain web-1", "restart 80", "check web-1", "drain web-2", "restart 80", "check web-2"}, k.begun())
	})
	t.Run("result", func(t *testing.T) {
		t.Parallel()
		k := start(t, found[1], "check web-2")
		release := k.hold("drain web-1")
		run := k.Start("start", "-w", filepath.Join(k.Dir, "rolling.yaml"))
		testsuite.WaitFor(t, time.Minute, "web-2 fails while web-1 is drained", func() bool {
			return k.happened("check web-2 fails@") && k.shown("rolling-restart").Counts[dag.Failed.String()] == 1
		})
		release()
		require.Equal(t, ui.ExitFailed, run.Code(t, 3*time.Minute))
		assert.ElementsMatch(t, []string{"list-hosts", "drain web-1", "drain web-2", "restart t", "restart t", "check web-1", "check web-2"}, k.begun())
		assert.True(t, k.happened("check web-1 ends@"), "the item in flight is restarted and checked after the failure of the other")
	})
}

// happened reports whether a line of the journal has this prefix.
func (k *kitchen) happened(line string) bool {
	return slices.ContainsFunc(k.journal(), func(one string) bool { return strings.HasPrefix(one, line) })
}
