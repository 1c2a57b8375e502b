package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// inbox is a receiver of webhooks that is down at first.
type inbox struct {
	t    *testing.T
	mu   sync.Mutex
	got  []contract.Notification
	fake bool
}

// listen opens the inbox at its unused address.
func (b *inbox) listen(address string) {
	b.t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(b.t, err)
	server := &http.Server{Handler: http.HandlerFunc(b.take), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	b.t.Cleanup(func() { _ = server.Close() })
}

func (b *inbox) take(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte("the key"))
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) != r.Header.Get("webhook-signature") {
		b.fake = true
		return
	}
	var n contract.Notification
	if json.Unmarshal(body, &n) == nil {
		b.got = append(b.got, n)
	}
}

func (b *inbox) has(event contract.NotifyEvent) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.got, func(n contract.Notification) bool { return n.Event == event })
}

// told counts the deliveries to the command of a receiver.
func told(t *testing.T, c *cluster) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "told"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.Count(string(text), "\n")
}

// explainsReceivers: explain describes a receiver that refuses all, one that accepts all, and one that only a
// rule names.
func (o *operator) explainsReceivers() {
	o.t.Helper()
	o.answers("what waits for hook?", []string{"0 sent, 1 waiting, 0 given up"}, "explain", "hook")
	o.answers("since when, and when is it tried again?", []string{"RECEIVER_FAILING(hook) for "}, "explain", "hook")
	o.answers("why?", []string{"1 notification waiting", "attempt", "failed, the last one:", "connection refused"}, "explain", "hook")
	var found explainer.Explanation
	require.NoError(o.t, json.Unmarshal([]byte(o.ask("explain", "hook", "-o", "json")), &found))
	assert.Equal(o.t, "failing", found.State)
	require.Len(o.t, found.Receiver.Deliveries, 1)
	assert.Equal(o.t, contract.NotifyFailed, found.Receiver.Deliveries[0].Event)
	assert.Equal(o.t, contract.CodeReceiverFailing, found.Reasons[0].Code)
	assert.False(o.t, found.Reasons[0].Since.IsZero())

	o.until("1 sent, 0 waiting, 0 given up", "explain", "file")
	o.answers("and gone?", []string{"NO_RECEIVER(gone)"}, "explain", "gone")
	o.answers("who names gone?", []string{"job types that name it: shaky"}, "explain", "gone")
	testsuite.WaitFor(o.t, time.Minute, "the shell offers receivers", func() bool {
		return o.offered("explain", "ho") == "hook\n" && o.offered("receivers", "--test", "") == "file\nhook\n"
	})
}

// offered returns the completions of words. A request to the server has 300 ms.
func (o *operator) offered(words ...string) string {
	o.t.Helper()
	command := exec.CommandContext(o.t.Context(), binary(o.t), append([]string{"__complete"}, words...)...)
	command.Dir, command.Env = o.dir, append(os.Environ(), "TEMPORAL_ADDRESS="+o.server.Address())
	said, err := command.Output()
	require.NoError(o.t, err)
	return string(said)
}

// TestNotificationsArriveAtLeastOnce: one receiver is down while a run fails, the control plane is killed and
// the notifier terminated. The run ends at once and the other receiver gets its notification at once. The next
// notifier delivers to the first receiver when it is up.
func TestNotificationsArriveAtLeastOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.control[0].Kill()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "key"), []byte("the key\n"), 0o600))
	config := fmt.Sprintf(`version: 1
notify:
  receivers:
    hook: {webhook: {url: "http://%s/hook", secret: {file: %s}, allow_private: true}}
    file: {command: {shell: "cat | cat >> %s; echo >> %s"}}
  rules:
    - {on: [approval], to: [hook]}
job_types: {}
`, address, filepath.Join(c.dir, "key"), filepath.Join(c.dir, "told"), filepath.Join(c.dir, "told"))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "control.yaml"), []byte(config), 0o600))
	control := func() *sites.Process { return c.start("server", "--config", filepath.Join(c.dir, "control.yaml")) }
	first := control()
	testsuite.WaitFor(t, 30*time.Second, "the notifier knows its receivers", func() bool {
		view, err := c.client.Notifications().View(t.Context())
		return err == nil && len(view.Receivers) == 2
	})

	c.apply(script("shaky", "global_execution_concurrency: 1", "echo x", "test -e healed") +
		"    notify: [{on: [failed, recovered], to: [hook, file]}, {on: [partial], to: [gone]}]\n")
	ref := c.run("shaky")
	result := c.result(ref, time.Minute)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	testsuite.WaitFor(t, time.Minute, "the living receiver is told", func() bool { return told(t, c) == 1 })
	testsuite.WaitFor(t, time.Minute, "the dead one is tried", func() bool {
		view, err := c.client.Notifications().View(t.Context())
		return err == nil && len(view.Receivers) == 2 && view.Receivers[1].Failures > 0
	})
	o := &operator{cluster: c, took: map[string]time.Duration{}}
	o.answers("who is not told of failures, since when, and what waits?", []string{"hook", "1", "connection refused"}, "status")
	o.explainsReceivers()
	first.Kill()
	require.NoError(t, c.client.Temporal().TerminateWorkflow(t.Context(), contract.NotificationsWorkflowID, "", "the wrong button"))
	control()

	box := &inbox{t: t}
	box.listen(address)
	testsuite.WaitFor(t, 2*time.Minute, "the dead one is told when it is back", func() bool { return box.has(contract.NotifyFailed) })
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "healed"), nil, 0o600))
	assert.Equal(t, contract.OutcomeCompleted, c.result(c.run("shaky"), time.Minute).Outcome)
	testsuite.WaitFor(t, time.Minute, "the recovery is told", func() bool { return box.has(contract.NotifyRecovered) && told(t, c) >= 2 })

	runDAG(t, c.client, compileDAG(t, "version: 1\nname: ask\ntasks:\n  - {id: gate, approval: {prompt: 'continue?'}}\n", nil), starter.DAGOptions{})
	testsuite.WaitFor(t, time.Minute, "the approval is wanted", func() bool { return box.has(contract.NotifyApproval) })
	id, err := c.client.Notifications().Test(t.Context(), "hook")
	require.NoError(t, err)
	testsuite.WaitFor(t, time.Minute, "the test arrives", func() bool { return box.has(contract.NotifyTest) })
	testsuite.WaitFor(t, time.Minute, "it is noted as sent", func() bool {
		view, err := c.client.Notifications().View(t.Context())
		return err == nil && slices.ContainsFunc(view.Deliveries, func(d contract.DeliveryView) bool { return d.ID == id && d.State == contract.DeliverySent })
	})
	box.mu.Lock()
	defer box.mu.Unlock()
	assert.False(t, box.fake, "every signature is right")
	assert.Equal(t, "failed/"+ref.WorkflowID, box.got[0].ID[:len("failed/"+ref.WorkflowID)])
	assert.Equal(t, 1, box.got[0].Counts["failed"])
}
