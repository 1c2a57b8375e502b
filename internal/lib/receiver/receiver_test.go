package receiver_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/jobtype"
)

func hook(change func(*receiver.Webhook)) receiver.Receiver {
	w := &receiver.Webhook{URL: "https://hooks.example.org/x"}
	change(w)
	return receiver.Receiver{Webhook: w}
}

func mail(change func(*receiver.SMTP)) receiver.Receiver {
	s := &receiver.SMTP{Server: "mail.example.org:587", From: "a@example.org", To: []string{"b@example.org"}}
	change(s)
	return receiver.Receiver{SMTP: s}
}

func command(change func(*receiver.Command)) receiver.Receiver {
	c := &receiver.Command{Argv: []string{"/usr/bin/page"}}
	change(c)
	return receiver.Receiver{Command: c}
}

var (
	env  = &receiver.Secret{Env: "HOOK"}
	file = &receiver.Secret{File: "/etc/hook"}
)

func TestReceiversThatAreAccepted(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]receiver.Receiver{
		"a webhook":                hook(func(*receiver.Webhook) {}),
		"plain HTTP":               hook(func(w *receiver.Webhook) { w.URL = "http://hooks.example.org:8080" }),
		"a secret address":         hook(func(w *receiver.Webhook) { w.URL, w.URLFrom = "", file }),
		"signed and authorized":    hook(func(w *receiver.Webhook) { w.Secret, w.Authorization = env, file }),
		"JSON":                     hook(func(w *receiver.Webhook) { w.Format = receiver.FormatJSON }),
		"Slack":                    hook(func(w *receiver.Webhook) { w.Format = receiver.FormatSlack }),
		"the shortest timeout":     hook(func(w *receiver.Webhook) { w.Timeout = jobtype.Duration(time.Second) }),
		"the longest timeout":      mail(func(s *receiver.SMTP) { s.Timeout = jobtype.Duration(45 * time.Second) }),
		"mail":                     mail(func(*receiver.SMTP) {}),
		"mail with a password":     mail(func(s *receiver.SMTP) { s.Username, s.Password = "a", env }),
		"mail with TLS":            mail(func(s *receiver.SMTP) { s.TLS, s.Username, s.Password = receiver.TLSImplicit, "a", env }),
		"mail in the clear":        mail(func(s *receiver.SMTP) { s.TLS = receiver.TLSNone }),
		"a name before an address": mail(func(s *receiver.SMTP) { s.To = []string{"Night Shift <night@example.org>"} }),
		"a command":                command(func(*receiver.Command) {}),
	} {
		assert.NoError(t, to.Validate(), name)
	}
	templated := hook(func(w *receiver.Webhook) { w.Format = receiver.FormatJSON })
	templated.Template = strings.Repeat("x", 16<<10)
	assert.NoError(t, templated.Validate())
}

// faultyWebhooks are webhooks with the beginning of the fault that they must show.
func faultyWebhooks() map[string]receiver.Receiver {
	return map[string]receiver.Receiver{
		"webhook: write either url or url_from":       hook(func(w *receiver.Webhook) { w.URL = "" }),
		"webhook: write either url or url_from\n":     hook(func(w *receiver.Webhook) { w.URLFrom, w.Secret = env, &receiver.Secret{} }),
		"webhook.url: is not an address like":         hook(func(w *receiver.Webhook) { w.URL = "hooks.example.org/x" }),
		"webhook.url: is not an address":              hook(func(w *receiver.Webhook) { w.URL = "ftp://hooks.example.org/x" }),
		"webhook.url: is not an":                      hook(func(w *receiver.Webhook) { w.URL = "https:///x" }),
		"webhook.url: is not":                         hook(func(w *receiver.Webhook) { w.URL = "https://hooks.example.org/%zz" }),
		"webhook.url: carries a password":             hook(func(w *receiver.Webhook) { w.URL = "https://a:hunter2@hooks.example.org/" }),
		"webhook.url_from: write either {env":         hook(func(w *receiver.Webhook) { w.URL, w.URLFrom = "", &receiver.Secret{} }),
		"webhook.secret: write either {env: NAME} or": hook(func(w *receiver.Webhook) { w.Secret = &receiver.Secret{Env: "A", File: "/b"} }),
		"webhook.authorization: write either":         hook(func(w *receiver.Webhook) { w.Authorization = &receiver.Secret{} }),
		`webhook.format: "xml": use json or slack`:    hook(func(w *receiver.Webhook) { w.Format = "xml" }),
		"webhook.format: template makes the body": {Template: "{{.Title}}", Webhook: &receiver.Webhook{
			URL: "https://hooks.example.org", Format: receiver.FormatSlack,
		}},
		"timeout: 999.999999ms is out of range": hook(func(w *receiver.Webhook) { w.Timeout = jobtype.Duration(time.Second - 1) }),
		"timeout: 45.000000001s is out of":      hook(func(w *receiver.Webhook) { w.Timeout = jobtype.Duration(45*time.Second + 1) }),
	}
}

func faultyMail() map[string]receiver.Receiver {
	return map[string]receiver.Receiver{
		`smtp.server: "mail.example.org" is not host:port`:      mail(func(s *receiver.SMTP) { s.Server = "mail.example.org" }),
		`smtp.server: ":587" is not host:port`:                  mail(func(s *receiver.SMTP) { s.Server = ":587" }),
		`smtp.server: "mail.example.org:" is not host:port`:     mail(func(s *receiver.SMTP) { s.Server = "mail.example.org:" }),
		`smtp.server: "mail.example.org:smtp" is not host:port`: mail(func(s *receiver.SMTP) { s.Server = "mail.example.org:smtp" }),
		`smtp.server: "mail.example.org:0" is not host:port`:    mail(func(s *receiver.SMTP) { s.Server = "mail.example.org:0" }),
		`smtp.server: "mail.example.org:65536" is not host`:     mail(func(s *receiver.SMTP) { s.Server = "mail.example.org:65536" }),
		"smtp.server: ADDRESS_REFUSED: 10.1.2.3 is private":     mail(func(s *receiver.SMTP) { s.Server = "10.1.2.3:25" }),
		`smtp: "" is not an address of mail`:                    mail(func(s *receiver.SMTP) { s.From = "" }),
		`smtp: "night shift" is not an address of mail`:         mail(func(s *receiver.SMTP) { s.To = []string{"a@b.c", "night shift"} }),
		"smtp.to: has no address":                               mail(func(s *receiver.SMTP) { s.To = nil }),
		"smtp: username and password belong together":           mail(func(s *receiver.SMTP) { s.Username = "a" }),
		"smtp: username and password belong":                    mail(func(s *receiver.SMTP) { s.Password = env }),
		"smtp.password: write either":                           mail(func(s *receiver.SMTP) { s.Username, s.Password = "a", &receiver.Secret{} }),
		"smtp.tls: none would send the password in the clear":   mail(func(s *receiver.SMTP) { s.TLS, s.Username, s.Password = receiver.TLSNone, "a", env }),
		`smtp.tls: "ssl": use starttls, tls or none`:            mail(func(s *receiver.SMTP) { s.TLS = "ssl" }),
		"timeout: -1s is out of range":                          mail(func(s *receiver.SMTP) { s.Timeout = jobtype.Duration(-time.Second) }),
	}
}

func faultyCommands() map[string]receiver.Receiver {
	return map[string]receiver.Receiver{
		"write one of webhook, smtp and command": {},
		"write one of webhook, smtp and":         {Webhook: hook(func(*receiver.Webhook) {}).Webhook, Command: &receiver.Command{Argv: []string{"page"}}},
		"command.argv: names no program":         command(func(c *receiver.Command) { c.Argv = nil }),
		"command.argv: names no":                 command(func(c *receiver.Command) { c.Argv = []string{"", "x"} }),
		"command.exit_codes.defer: only jobs are": command(func(c *receiver.Command) {
			c.ExitCodes.Defer = map[int]jobtype.Duration{75: jobtype.Duration(time.Hour)}
		}),
		"command.env: \"A=B\" is no name of a":     command(func(c *receiver.Command) { c.Env = map[string]launch.Value{"A=B": {}} }),
		"timeout: 1m0s is out of range: use 1s to": command(func(c *receiver.Command) { c.Timeout = jobtype.Duration(time.Minute) }),
		"template: has 16385 bytes, the limit is":  {Template: strings.Repeat("x", 16<<10+1), Command: command(func(*receiver.Command) {}).Command},
		"template: ": {Template: "{{.Password}}", Webhook: hook(func(*receiver.Webhook) {}).Webhook},
	}
}

// Each receiver has exactly the one fault. No text has an address of a webhook, which may be a secret.
func TestFaultsOfReceivers(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]receiver.Receiver{faultyWebhooks(), faultyMail(), faultyCommands()} {
		for want, to := range table {
			err := to.Validate()
			require.ErrorContains(t, err, strings.TrimSpace(want))
			assert.True(t, strings.HasPrefix(err.Error(), strings.TrimSpace(want)), "%q has another fault too: %v", want, err)
			assert.Equal(t, strings.Count(want, "\n"), strings.Count(err.Error(), "\n"), "%v", err)
			assert.NotContains(t, err.Error(), "hooks.example.org")
			assert.NotContains(t, err.Error(), "hunter2")
		}
	}
}

// An operator corrects a receiver once.
func TestAllFaultsOfAReceiverAreReported(t *testing.T) {
	t.Parallel()
	err := receiver.Receiver{Template: "{{", SMTP: &receiver.SMTP{Server: "x", Username: "a", TLS: "ssl", Timeout: 1}}.Validate()
	for _, want := range []string{"timeout:", "template:", "smtp.server:", `smtp: ""`, "smtp.to:", "belong together", "smtp.tls:"} {
		assert.ErrorContains(t, err, want)
	}
}

func TestKindsTimeoutsAndSecrets(t *testing.T) {
	t.Parallel()
	long := jobtype.Duration(30 * time.Second)
	for _, row := range []struct {
		kind string
		to   receiver.Receiver
		keys []receiver.Secret
	}{
		{"webhook", hook(func(w *receiver.Webhook) { w.URLFrom, w.Secret, w.Authorization, w.Timeout = env, file, env, long }), []receiver.Secret{*env, *file, *env}},
		{"smtp", mail(func(s *receiver.SMTP) { s.Password, s.Timeout = file, long }), []receiver.Secret{*file}},
		{"command", command(func(c *receiver.Command) { c.Timeout = long }), nil},
	} {
		assert.Equal(t, row.kind, row.to.Kind())
		assert.Equal(t, 30*time.Second, row.to.Timeout(), row.kind)
		assert.Equal(t, row.keys, row.to.Secrets(), row.kind)
	}
	assert.Empty(t, receiver.Receiver{}.Kind())
	for _, to := range []receiver.Receiver{{}, hook(func(*receiver.Webhook) {}), mail(func(*receiver.SMTP) {}), command(func(*receiver.Command) {})} {
		assert.Equal(t, 10*time.Second, to.Timeout())
		assert.Empty(t, to.Secrets())
	}
	assert.Equal(t, []string{"a", "b", "c"}, receiver.Receivers{"c": {}, "a": {}, "b": {}}.Names())
}

// Each field is one that a template may use, and no other is.
func TestFieldsOfATemplate(t *testing.T) {
	t.Parallel()
	fields := receiver.Fields()
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(fields))), len(fields))
	for _, field := range fields {
		assert.NoError(t, receiver.Receiver{Template: "{{." + field + "}}", Webhook: hook(func(*receiver.Webhook) {}).Webhook}.Validate(), field)
	}
}

func TestSecretsOfVariables(t *testing.T) {
	t.Setenv("RECEIVER_TEST", "  s3cret\n")
	t.Setenv("RECEIVER_EMPTY", "")
	value, err := receiver.Secret{Env: "RECEIVER_TEST"}.Read()
	require.NoError(t, err)
	assert.Equal(t, "  s3cret\n", value, "a variable has no line end to cut")
	for _, name := range []string{"RECEIVER_EMPTY", "RECEIVER_TEST_MISSING"} {
		_, err = receiver.Secret{Env: name}.Read()
		require.ErrorContains(t, err, "the variable "+name+" is not set")
	}
}

// An empty key would sign for everyone, so it is refused like an empty variable.
func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := func(name, text string) receiver.Secret {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return receiver.Secret{File: path}
	}
	largest := strings.Repeat("x", 16<<10)
	for text, want := range map[string]string{"s3cret": "s3cret", "s3cret\n": "s3cret", "s3cret\r\n\r\n": "s3cret", " a\nb \n": " a\nb ", largest: largest} {
		value, err := written("good", text).Read()
		require.NoError(t, err)
		assert.Equal(t, want, value)
	}
	for _, text := range []string{"", "\n", "\r\n"} {
		_, err := written("empty", text).Read()
		require.ErrorContains(t, err, "is empty", "%q", text)
	}
	_, err := written("large", largest+"\n").Read()
	require.ErrorContains(t, err, "large is not a file of at most 16384 bytes")
	_, err = receiver.Secret{File: dir}.Read()
	require.ErrorContains(t, err, "is not a file")
	_, err = receiver.Secret{File: filepath.Join(dir, "missing")}.Read()
	require.ErrorIs(t, err, os.ErrNotExist)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = receiver.Secret{File: pipe}.Read()
	require.ErrorContains(t, err, "is not a file", "reading it would wait for a writer")
}
