package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

const toldType = `job_types:
  a:
    handler: plain
    schedule: {every: 1d}
    notify: [{on: [failed], to: [ops]}, {not_succeeded_for: 2d, to: [ops]}]
`

func TestNotifyIsRead(t *testing.T) {
	t.Parallel()
	loaded, err := load("version: 1\nnotify:\n  receivers: {ops: {webhook: {url: 'https://x.example/y', secret: {env: KEY}}}}\n" + toldType)
	require.NoError(t, err)
	assert.Equal(t, []contract.NotifyRule{{On: []contract.NotifyEvent{"failed"}, To: []string{"ops"}}, {NotSucceededFor: 48 * 3600e9, To: []string{"ops"}}}, loaded.JobTypes["a"].Notify)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Len(t, specs[0].Notify, 2, "the rules travel with the job type")
	_, err = load("version: 1\n" + toldType)
	require.NoError(t, err, "the control plane's file has the receivers")
}

// A receiver has no templates, so braces belong to its script.
func TestReceiverMayBeAScript(t *testing.T) {
	t.Parallel()
	loaded, err := load("version: 1\nnotify:\n  receivers:\n    ops:\n      command:\n        shell: |\n          docker ps --format '{{.Names}}' | mail ops\n" + toldType)
	require.NoError(t, err)
	assert.Equal(t, []string{"bash", "-euo", "pipefail", "-c", "docker ps --format '{{.Names}}' | mail ops\n", "shell"}, loaded.Notify.Receivers["ops"].Command.Argv)
}

func TestNotifyFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"receivers: {ops: {webhook: {url: 'https://x/y', secret: abc}}}":                          "a secret does not stand in the file",
		"receivers: {ops: {webhook: {url: 'https://u:p@x/y'}}}":                                   "carries a password",
		"receivers: {ops: {webhook: {url: 'ftp://x/y'}}}":                                         "is not an address like",
		"receivers: {ops: {webhook: {url: 'https://x'}, command: {argv: [a]}}}":                   "write one of webhook, smtp and command",
		"receivers: {ops: {command: {argv: []}}}":                                                 "names no program",
		"receivers: {ops: {command: {argv: [a], shell: b}}}":                                      "ops.command.shell: write argv or shell, not both",
		"receivers: {ops: {command: {shell: 'if true'}}}":                                         "ops.command.shell: line 1 of the script: bash would not read it",
		"receivers: {ops: {command: {argv: [a], timeout: 5m}}}":                                   "out of range",
		"receivers: {ops: {command: {argv: [a]}, template: '{{range .Nope}}{{end}}'}}":            "there is no .Nope here",
		"receivers: {ops: {smtp: {server: mail, from: a@b.c, to: [a@b.c]}}}":                      "is not host:port",
		"receivers: {ops: {smtp: {server: 'm:25', from: a@b.c, to: [x], tls: none}}}":             "is not an address of mail",
		"receivers: {ops: {command: {argv: [a]}}}\n  rules: [{on: [failed], to: [opps]}]":         `there is no receiver "opps": did you mean "ops"?`,
		"receivers: {ops: {command: {argv: [a]}}}\n  rules: [{on: [failure], to: [ops]}]":         `there is no event "failure"`,
		"receivers: {ops: {command: {argv: [a]}}}\n  rules: [{to: [ops]}]":                        "sets neither on nor not_succeeded_for",
		"rules: [{on: [failed], to: [ops]}]":                                                      "write notify.receivers.ops",
		"receivers: {ops: {command: {argv: [a]}}}\n  rules: [{not_succeeded_for: 1s, to: [ops]}]": "out of range",
	} {
		_, err := load("version: 1\nnotify:\n  " + text + "\njob_types: {}\n")
		require.ErrorContains(t, err, want, text)
	}
	_, err := load("version: 1\njob_types:\n  a: {handler: plain, schedule: {every: 1d}, notify: [{on: [worker_lost], to: [ops]}]}\n")
	require.ErrorContains(t, err, "worker_lost is of no job type")
}
