package notify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/bash"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/jobtype"
)

func failure() contract.Notification {
	return contract.Notification{
		Version: 1, ID: "failed/group/scrub-1/r", Event: contract.NotifyFailed, At: time.Unix(1_800_000_000, 0).UTC(), JobType: "scrub",
		Run: "group/scrub-1", RunID: "r", Outcome: contract.OutcomeFailed, Counts: map[string]int{"failed": 2}, Detail: `disk "sda" is gone`,
	}
}

func deliver(t *testing.T, to receiver.Receiver) contract.DeliverResult {
	t.Helper()
	require.NoError(t, to.Validate())
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	Register(env, New(Options{Receivers: receiver.Receivers{"ops": to}, Namespace: "ns", Log: slog.New(slog.DiscardHandler), Shim: []string{"/proc/self/exe", command.ShimArgument}}))
	value, err := env.ExecuteActivity(contract.DeliverActivity, contract.Delivery{Notification: failure(), Receiver: "ops"})
	require.NoError(t, err)
	var result contract.DeliverResult
	require.NoError(t, value.Get(&result))
	return result
}

type hook struct {
	*httptest.Server

	bodies  []string
	headers []http.Header
}

func newHook(t *testing.T, status int) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.bodies, h.headers = append(h.bodies, string(body)), append(h.headers, r.Header)
		if status == http.StatusFound {
			http.Redirect(w, r, "/elsewhere", status)
			return
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

func secretFile(t *testing.T, value string) *receiver.Secret {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(value+"\n"), 0o600))
	return &receiver.Secret{File: path}
}

func TestWebhookIsSigned(t *testing.T) {
	t.Parallel()
	h := newHook(t, http.StatusNoContent)
	to := receiver.Webhook{URL: h.URL, AllowPrivate: true, Secret: secretFile(t, "key"), Authorization: secretFile(t, "Bearer token")}
	assert.Equal(t, contract.DeliverResult{}, deliver(t, receiver.Receiver{Webhook: &to}))
	require.Len(t, h.bodies, 1)
	got := h.headers[0]
	assert.Equal(t, "failed/group/scrub-1/r", got.Get("webhook-id"))
	assert.Equal(t, "Bearer token", got.Get("Authorization"))
	assert.Equal(t, Sign("key", got.Get("webhook-id"), got.Get("webhook-timestamp"), []byte(h.bodies[0])), got.Get("webhook-signature"))
	assert.NotEqual(t, Sign("key", got.Get("webhook-id"), "1", []byte(h.bodies[0])), got.Get("webhook-signature"), "the time is signed, too")
	var body contract.Notification
	require.NoError(t, json.Unmarshal([]byte(h.bodies[0]), &body))
	assert.Equal(t, "scrub: failed, 2 failed, 0 completed", body.Title)
	assert.Equal(t, "roundsman show group/scrub-1", body.Command)
	assert.Equal(t, "ns", body.Namespace)
}

// TestSignature uses the example of standardwebhooks.com.
func TestSignature(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)))
}

func TestWebhookFormats(t *testing.T) {
	t.Parallel()
	h := newHook(t, http.StatusOK)
	slack := receiver.Receiver{Webhook: &receiver.Webhook{URL: h.URL, AllowPrivate: true, Format: receiver.FormatSlack}}
	assert.Empty(t, deliver(t, slack).Error)
	own := receiver.Receiver{Webhook: &receiver.Webhook{URL: h.URL, AllowPrivate: true}, Template: `{"summary": {{json .Title}}, "n": {{index .Counts "failed"}}}`}
	assert.Empty(t, deliver(t, own).Error)
	require.Len(t, h.bodies, 2)
	assert.JSONEq(t, `{"text": "scrub: failed, 2 failed, 0 completed\ndisk \"sda\" is gone\n`+"`roundsman show group/scrub-1`"+`"}`, h.bodies[0])
	assert.JSONEq(t, `{"summary": "scrub: failed, 2 failed, 0 completed", "n": 2}`, h.bodies[1])
	own.Template = `{"summary": {{.Title}}}`
	assert.True(t, deliver(t, own).Permanent, "it makes no JSON")
	assert.Len(t, h.bodies, 2)
}

func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{503: false, 404: false, 401: false, 429: false, 400: true, 422: true, 302: false} {
		h := newHook(t, status)
		result := deliver(t, receiver.Receiver{Webhook: &receiver.Webhook{URL: h.URL, AllowPrivate: true}})
		assert.Contains(t, result.Error, fmt.Sprintf("HTTP %d", status))
		assert.Equal(t, permanent, result.Permanent, status)
		assert.Len(t, h.bodies, 1, "a redirect is not followed")
	}
}

func TestPrivateAddressesNeedLeave(t *testing.T) {
	t.Parallel()
	h := newHook(t, http.StatusOK)
	_, port, _ := net.SplitHostPort(h.Listener.Addr().String())
	for _, address := range []string{h.URL, "http://[::ffff:127.0.0.1]:" + port} {
		assert.ErrorContains(t, receiver.Receiver{Webhook: &receiver.Webhook{URL: address}}.Validate(), "ADDRESS_REFUSED", address)
	}
	assert.Contains(t, deliver(t, receiver.Receiver{Webhook: &receiver.Webhook{URL: "http://localhost:" + port}}).Error, "ADDRESS_REFUSED")
	assert.Empty(t, h.bodies)
	for address, want := range map[string][2]bool{ // refused without, refused with allow_private
		"8.8.8.8": {false, false}, "10.1.2.3": {true, false}, "192.168.0.1": {true, false}, "127.0.0.1": {true, false}, "::1": {true, false},
		"fd00::1": {true, false}, "100.64.0.1": {true, false}, "169.254.169.254": {true, true}, "fe80::1": {true, true}, "0.0.0.0": {true, true}, "224.0.0.1": {true, true},
	} {
		at := netip.MustParseAddr(address)
		assert.Equal(t, want, [2]bool{receiver.CheckAddress(at, false) != nil, receiver.CheckAddress(at, true) != nil}, address)
	}
}

func TestSecretsStayOutOfResults(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // The port is closed.
	from := secretFile(t, "http://"+listener.Addr().String()+"/services/T0/SECRET")
	result := deliver(t, receiver.Receiver{Webhook: &receiver.Webhook{URLFrom: from, AllowPrivate: true}})
	assert.Contains(t, result.Error, "refused")
	assert.NotContains(t, result.Error, "SECRET")
	missing := deliver(t, receiver.Receiver{Webhook: &receiver.Webhook{URLFrom: &receiver.Secret{Env: "ROUNDSMAN_NO_SUCH"}}})
	assert.Contains(t, missing.Error, "ROUNDSMAN_NO_SUCH is not set")
	assert.False(t, missing.Permanent)
}

func TestCommandGetsTheBody(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	to := receiver.Command{Argv: []string{"sh", "-c", `{ echo "$ROUNDSMAN_NOTIFICATION_ID $TEMPORAL_API_KEY"; cat; } > "$1"`, "sh", file}}
	assert.Empty(t, deliver(t, receiver.Receiver{Command: &to}).Error)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	first, body, _ := strings.Cut(string(written), "\n")
	assert.Equal(t, "failed/group/scrub-1/r ", first)
	assert.JSONEq(t, `"failed"`, string(mustField(t, body, "outcome")))
	assert.Contains(t, deliver(t, receiver.Receiver{Command: &receiver.Command{Argv: []string{"sh", "-c", "echo hidden; exit 3"}}}).Error, "exit status 3")
}

// A script gets the body and the variables like a program, and a failure within its pipeline
// counts.
func TestCommandMayBeAScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{
		"cat | cat > out\necho \"$ROUNDSMAN_NOTIFICATION_EVENT $0\" >> out": "",
		"false | true":               "exit status 1",
		"echo \"$TEMPORAL_API_KEY\"": "exit status 1",
	} {
		script, err := bash.Plain(text)
		require.NoError(t, err)
		result := deliver(t, receiver.Receiver{Command: &receiver.Command{Argv: script.Argv, Spec: launch.Spec{Dir: dir}}, Template: "{{.ID}}\n"})
		if want == "" {
			assert.Empty(t, result.Error, text)
			continue
		}
		assert.Contains(t, result.Error, want, text)
	}
	written, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	assert.Equal(t, "failed/group/scrub-1/r\nfailed shell\n", string(written))
}

func mustField(t *testing.T, body, name string) json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &fields))
	return fields[name]
}

func TestCommandHasATimeLimit(t *testing.T) {
	t.Parallel()
	// The grandchild keeps the output open: deliver returns only if the whole group ends.
	to := receiver.Command{Argv: []string{"sh", "-c", "sleep 3600 & sleep 3600"}, Timeout: jobtype.Duration(time.Second)}
	assert.Contains(t, deliver(t, receiver.Receiver{Command: &to}).Error, "time limit")
}

// A command's children end with it, even in a session of their own.
func TestCommandEndsWithAllItStarted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	for _, script := range []string{`setsid sh -c 'echo $$ > "$0"; exec sleep 3600' "$1" & wait`, `setsid sh -c 'echo $$ > "$0"; exec sleep 3600' "$1" & while [ ! -s "$1" ]; do :; done`} {
		_ = os.Remove(file)
		deliver(t, receiver.Receiver{Command: &receiver.Command{Argv: []string{"sh", "-c", script, "sh", file}, Timeout: jobtype.Duration(time.Second)}})
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NoFileExists(t, "/proc/"+strings.TrimSpace(string(text))+"/stat")
	}
}

// A receiver supports the keys of programs, but no templates.
func TestCommandHasKeysOfPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := launch.Spec{Dir: dir, Env: map[string]launch.Value{"PATH": {Text: "/none:/usr/bin:/bin"}, "A": {Text: "{{.ID}}"}}, ExitCodes: launch.ExitCodes{Success: []int{7}}}
	to := receiver.Command{Argv: []string{"sh", "-c", `echo "$A" > out; exit 7`}, Spec: keys}
	assert.Empty(t, deliver(t, receiver.Receiver{Command: &to}).Error)
	written, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	assert.Equal(t, "{{.ID}}\n", string(written))
	to.Spec = launch.Spec{User: "no-such-user"}
	assert.Contains(t, deliver(t, receiver.Receiver{Command: &to}).Error, "NO_USER: this node has no user no-such-user")
}

func TestUnknownReceiver(t *testing.T) {
	t.Parallel()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	Register(env, New(Options{Log: slog.New(slog.DiscardHandler)}))
	value, err := env.ExecuteActivity(contract.DeliverActivity, contract.Delivery{Notification: failure(), Receiver: "gone"})
	require.NoError(t, err)
	var result contract.DeliverResult
	require.NoError(t, value.Get(&result))
	assert.Contains(t, result.Error, "NO_RECEIVER")
	assert.False(t, result.Permanent, "another control plane may have it")
}

// mailbox is a mail server without TLS that takes one mail.
func mailbox(t *testing.T) (address string, mail <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	taken := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		taken <- speakSMTP(conn)
	}()
	return listener.Addr().String(), taken
}

func speakSMTP(conn net.Conn) string {
	var data strings.Builder
	fmt.Fprint(conn, "220 mailbox\r\n")
	lines, reading := bufio.NewScanner(conn), false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case reading && line == ".":
			reading = false
			fmt.Fprint(conn, "250 taken\r\n")
		case reading:
			data.WriteString(line + "\n")
		case line == "DATA":
			reading = true
			fmt.Fprint(conn, "354 go ahead\r\n")
		case line == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return data.String()
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
	return data.String()
}

func TestMail(t *testing.T) {
	t.Parallel()
	address, mail := mailbox(t)
	to := receiver.SMTP{Server: address, From: "roundsman@example.org", To: []string{"ops@example.org"}, TLS: receiver.TLSNone}
	named := to
	named.Server = strings.Replace(address, "127.0.0.1", "localhost", 1)
	for _, tls := range []string{receiver.TLSNone, receiver.TLSImplicit} {
		named.TLS = tls
		assert.Contains(t, deliver(t, receiver.Receiver{SMTP: &named}).Error, "ADDRESS_REFUSED", "one rule for webhooks and mail servers")
	}
	to.AllowPrivate = true
	assert.Empty(t, deliver(t, receiver.Receiver{SMTP: &to}).Error)
	got := <-mail
	assert.Contains(t, got, "Subject: [roundsman] scrub: failed, 2 failed, 0 completed")
	assert.Contains(t, got, "X-Roundsman-Notification: failed/group/scrub-1/r")
	assert.Contains(t, got, "roundsman show group/scrub-1")
}

func TestMailWantsTLS(t *testing.T) {
	t.Parallel()
	address, _ := mailbox(t)
	to := receiver.SMTP{Server: address, From: "roundsman@example.org", To: []string{"ops@example.org"}, AllowPrivate: true}
	assert.NotEmpty(t, deliver(t, receiver.Receiver{SMTP: &to}).Error, "the server offers none")
}

// The cause of an error is its last line: mails, webhooks and their templates never cut it, and
// lines remain lines.
func TestTheCauseIsTheEnd(t *testing.T) {
	t.Parallel()
	detail := "k: pg_dump exited with status 1: " + strings.Repeat("pg_dump: dumping a table\n", 100) + "pg_dump: error: no space left on device\n"
	n := contract.Notification{ID: "i", Event: contract.NotifyFailed, JobType: "dump", Outcome: contract.OutcomeFailed, Run: "group/dump-1", Detail: detail}
	title(&n)
	assert.LessOrEqual(t, len(n.Detail), contract.MaxNotificationText)
	assert.True(t, strings.HasPrefix(n.Detail, "k: …\npg_dump: dumping a table\n"), n.Detail)
	const cause = "\npg_dump: error: no space left on device"
	assert.True(t, strings.HasSuffix(text(n), cause+"\n"), "the last line of a mail")
	body, err := bodyOf(receiver.Receiver{Webhook: &receiver.Webhook{}}, n)
	require.NoError(t, err)
	var hook contract.Notification
	require.NoError(t, json.Unmarshal(body, &hook))
	assert.True(t, strings.HasSuffix(hook.Detail, cause))
}
