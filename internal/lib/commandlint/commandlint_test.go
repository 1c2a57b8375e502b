package commandlint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/commandlint"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

const (
	secret = commandlint.LiteralSecret
	one    = commandlint.OneElement
	pipe   = commandlint.LostFailure
)

func TestArgv(t *testing.T) {
	t.Parallel()
	for argv, want := range map[string][]commandlint.Finding{
		// Secrets in options.
		"mysqldump¦-uroot¦-ps3cret¦shop":           {{secret, 2, "-p…"}},
		"/usr/bin/mariadb-dump¦-ps3cret":           {{secret, 1, "-p…"}},
		"sudo¦-u¦mysql¦mysqldump¦-ps3cret":         {{secret, 4, "-p…"}},
		"docker¦exec¦db¦mysqldump¦-ps3cret":        {{secret, 4, "-p…"}},
		"sshpass¦-p¦s3cret¦ssh¦host":               {{secret, 2, "-p"}},
		"mongodump¦-u¦a¦-p¦s3cret":                 {{secret, 4, "-p"}},
		"mongodump¦--password¦s3cret":              {{secret, 2, "--password"}},
		"redis-cli¦-a¦s3cret¦ping":                 {{secret, 2, "-a"}},
		"mysqldump¦--password=s3cret":              {{secret, 1, "--password"}},
		"deploy¦--api-key=abc¦--auth-token¦xyz":    {{secret, 1, "--api-key"}, {secret, 3, "--auth-token"}},
		"env¦PGPASSWORD=s3cret¦pg_dump¦db":         {{secret, 1, "PGPASSWORD"}},
		"openssl¦enc¦-aes-256-cbc¦-k¦x":            nil,
		"openssl¦enc¦-pass¦pass:s3cret":            {{secret, 3, "-pass"}},
		"sh¦-c¦PGPASSWORD=s3cret pg_dump db":       {{secret, 2, "PGPASSWORD"}},
		"sh¦-c¦cd /x && mysqldump -p's3cret' shop": {{secret, 2, "-p…"}},
		"sh¦-c¦export API_TOKEN=\"abc\"; run":      {{secret, 2, "API_TOKEN"}},
		// No secrets.
		"ssh¦-p¦5432¦host":                                     nil,
		"psql¦-p¦5432¦--password¦db":                           nil,
		"pg_dump¦-p5432¦--no-password¦db":                      nil,
		"mysql¦-P¦3306¦-p¦db":                                  nil,
		"mysql¦--password¦db":                                  nil,
		"mysqldump¦-p$PW":                                      nil,
		"mysqldump¦-p{{.Params.pw}}":                           nil,
		"mysqldump¦--password={{ .Params.pw }}":                nil,
		"mkdir¦-parents":                                       nil,
		"docker¦run¦-p¦3306:3306¦mysql":                        nil,
		"docker¦run¦-p3306:3306¦redis":                         nil,
		"restic¦--password-file¦/etc/restic.key":               nil,
		"restic¦--password-file=/etc/restic.key":               nil,
		"restic¦--password-command=pass show restic":           nil,
		"borg¦create¦--token¦$TOKEN":                           nil,
		"vault¦login¦--token¦file:/run/token":                  nil,
		"tool¦--password¦--verbose":                            nil,
		"tool¦--ask-password=yes":                              nil,
		"openssl¦enc¦-pass¦file:/etc/key¦-passin¦env:K":        nil,
		"openssl¦enc¦-pass¦pass:$PW":                           nil,
		"grep¦password=old¦/etc/app.conf":                      nil,
		"find¦/¦-name¦mysql¦-print":                            nil,
		"sh¦-c¦PGPASSWORD=\"$PW\" pg_dump db":                  nil,
		"sh¦-c¦TOKEN=$(cat /run/token) run":                    nil,
		"sh¦-c¦TOKEN=`cat /run/token` run":                     nil,
		"sh¦-c¦grep token=abc /etc/app # PGPASSWORD=in-a-note": nil,
		// A command line in one element.
		"pg_dump -Fc db":                    {{one, 0, "pg_dump"}},
		"/usr/bin/pg_dump -Fc db":           {{one, 0, "/usr/bin/pg_dump"}},
		"/usr/local/bin/backup.sh db1":      {{one, 0, "/usr/local/bin/backup.sh"}},
		"cat /etc/hosts":                    {{one, 0, "cat"}},
		"pg_dump -Fc¦db":                    {{one, 0, "pg_dump"}},
		"pg_dump {{.Params.item}}":          {{one, 0, "pg_dump"}},
		"PGPASSWORD=s3cret pg_dump -Fc db":  {{one, 0, "pg_dump"}, {secret, 0, "PGPASSWORD"}},
		"/opt/My Tools/run":                 nil,
		`C:\Program Files\tool.exe`:         nil,
		"{{ .Params.program }}":             nil,
		"{{.Params.program}} {{.Job.ID}}":   nil,
		"/opt/{{ .Params.version }}/run¦-x": nil,
		"echo¦two words¦-a b":               nil,
		"true":                              nil,
		"":                                  nil,
		// Pipelines.
		"sh¦-c¦pg_dump db | gzip > f":                                 {{pipe, 2, ""}},
		"/bin/bash¦-ec¦pg_dump db |& gzip > f":                        {{pipe, 2, ""}},
		"sudo¦-u¦postgres¦sh¦-c¦pg_dump db | gzip":                    {{pipe, 5, ""}},
		"sh¦-c¦echo x | pg_restore | gzip":                            {{pipe, 2, ""}},
		"sh¦-c¦(a; b) | gzip":                                         {{pipe, 2, ""}},
		"sh¦-c¦for d in a b; do pg_dump $d | gzip; done":              {{pipe, 2, ""}},
		"sh¦-c¦cd /x || exit; pg_dump db 2>&1 | gzip":                 {{pipe, 2, ""}},
		"bash¦-o¦pipefail¦-c¦a | b":                                   nil,
		"bash¦-euo¦pipefail¦-c¦a | b":                                 nil,
		"bash¦-c¦-o¦pipefail¦a | b":                                   nil,
		"bash¦-c¦set -euo pipefail; a | b":                            nil,
		"bash¦-c¦a | b; exit ${PIPESTATUS[0]}":                        nil,
		"sh¦-c¦a || b":                                                nil,
		"sh¦-c¦awk -F'|' '{print $1}' f":                              nil,
		"sh¦-c¦grep -E \"a|b\" f":                                     nil,
		"sh¦-c¦x=\"$(echo \"a|b\")\"; run":                            nil,
		"sh¦-c¦run \\| x":                                             nil,
		"sh¦-c¦run >| f":                                              nil,
		"sh¦-c¦echo $(cat f) | wc":                                    nil,
		"sh¦-c¦echo $((1 | 2))":                                       nil,
		"sh¦-c¦printf x | tool":                                       nil,
		"sh¦-c¦sort f | head -1":                                      nil,
		"sh¦-c¦if ps ax | grep x; then run; fi":                       nil,
		"sh¦-c¦case $1 in a|b) run;; esac":                            nil,
		"sh¦-c¦cat <<EOF\na | b\nEOF":                                 nil,
		"sh¦-c¦run # a | b":                                           nil,
		"sh¦-c¦gzip -f -- \"$1\"¦name¦{{.Params.item | printf \"\"}}": nil,
		"sh¦/opt/script.sh¦a | b":                                     nil,
		"awk¦{print | \"sort\"}":                                      nil,
	} {
		got := commandlint.Argv(strings.Split(argv, "¦"))
		assert.Equal(t, want, got, argv)
		for _, f := range got {
			assert.NotContains(t, f.Message(), "s3cret")
			assert.LessOrEqual(t, len([]rune(f.Message())), 120)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"PGPASSWORD", "password", "dbPassword", "MYSQL_PWD", "RESTIC_PASSWORD", "BORG_PASSPHRASE", "token", "GITHUB_TOKEN", "api-key",
		"apiKey", "AWS_SECRET_ACCESS_KEY", "client_secret", "SSHPASS",
	} {
		assert.True(t, commandlint.Secret(name, "s3cret"), name)
	}
	for _, name := range []string{
		"RESTIC_PASSWORD_FILE", "password_file", "PGPASSFILE", "password-command", "no-password", "tokens", "max_token", "page_token",
		"primary_key", "sort_key", "key", "secret", "user", "AWS_ACCESS_KEY_ID", "tokenizer", "bypass", "port", "",
	} {
		assert.False(t, commandlint.Secret(name, "s3cret"), name)
	}
	for _, value := range []string{
		"", " ", "$PW", "${PW}", "$(cat f)", "`cat f`", "{{.Params.pw}}", "{{ .Params.pw }}", "file:/etc/key", "env:PW", "vault:kv/db", "op://v/i",
		"/etc/key", "./key", "~/key", "@key", "<password>", "true", "yes", "None", "prompt", "***", "-", "https://vault/x",
	} {
		assert.False(t, commandlint.Secret("password", value), value)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	root, faults := yamlread.Read("f.yaml", []byte(`
env: {PGPASSWORD: s3cret, PGUSER: backup}
targets:
  - {host: a, token: abc}
  - {host: b, token: {file: /run/token}}
password: "{{.Params.x}}"
passphrase: 5
`), yamlread.Options{Bytes: 1 << 20})
	require.Empty(t, faults)
	found := commandlint.Values(root, "params")
	require.Len(t, found, 2)
	assert.Equal(t, "params.env.PGPASSWORD", found[0].Path)
	assert.Equal(t, 2, found[0].Place.Line)
	assert.Equal(t, "params.targets[0].token", found[1].Path)
	assert.Equal(t, "token", found[1].Name)
	assert.Empty(t, commandlint.Values(nil, "params"))
	assert.Empty(t, commandlint.Command(nil, "command"))
}

// No script makes the lexer panic or loop.
func FuzzArgv(f *testing.F) {
	for _, script := range []string{"a | b", "'", `"$(`, "`", "((", "$(", "\\", "<(a", "a)|b", "\"\\", "{{", "#"} {
		f.Add(script)
	}
	f.Fuzz(func(_ *testing.T, script string) { commandlint.Argv([]string{"sh", "-c", script}) })
}

// Each quote without an end searched the whole rest of the script: minutes for a megabyte.
func TestOpenQuotesCostNoSearchEach(t *testing.T) {
	t.Parallel()
	script := "mysqldump -ps3cret; echo $(" + strings.Repeat(`"$(`, 1<<20)
	assert.Equal(t, []commandlint.Finding{{Code: secret, Index: 2, Name: "-p…"}}, commandlint.Argv([]string{"sh", "-c", script}))
	assert.Equal(t, []commandlint.Finding{{Code: secret, Index: 2, Name: "-p…"}},
		commandlint.Argv([]string{"sh", "-c", `x=$(echo "$(a)" "b") mysqldump -ps3cret; y=$(echo "$("`}))
}
