package command_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

const topSecret = `s3cr3t/"to p"+&`

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// leak prints a secret in every way that a program has: as it is, encoded, in pieces, on
// both streams, as progress, as the last line.
const leak = `test "$(printf %s "$S" | sha256sum)" = "$(printf %s "$1" | sha256sum)" || { echo WRONG; exit 9; }
head -c 32760 /dev/zero | tr '\0' x; printf '%s\n' "$S"
printf '::progress 50 %s %s\n' "$S" "$S"
echo "as it is: $S!"
printf %s "$S" | base64
printf '{"password":"%s"}\n' "$(printf %s "$S" | sed 's/"/\\"/g')"
echo "stderr: $S" >&2
head=$(printf %s "$S" | cut -c1-5); printf %s "$head"; sleep 0.1; printf '%s\n' "$(printf %s "$S" | cut -c6-)"
echo "last line $S"
exit $2`

func TestASecretIsInNothingThatAJobReturns(t *testing.T) {
	t.Parallel()
	path := secretFile(t, topSecret+"\n")
	for name, value := range map[string]block{
		"file":            {"file": path},
		"a template":      {"file": "{{.Params.path}}"},
		"command":         {"command": []string{"cat", path}},
		"another process": {"command": []string{"sh", "-c", "setsid cat $0", "{{.Params.path}}"}},
	} {
		for _, code := range []string{"0", "3"} {
			settings := shell(leak, topSecret, code).with(block{"env": block{"S": value}})
			got := execute(t, settings, jobtype.Job{Params: raw(t, block{"path": path})})
			assert.Equal(t, code == "0", got.Err == nil, "%s: %v", name, got.Err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			everything := string(text) + got.Result.Output
			if got.Err != nil {
				everything += got.Err.Error()
				assert.ErrorContains(t, got.Err, "stderr: ***")
			}
			assert.NotContains(t, everything, "WRONG")
			assert.Contains(t, everything, "as it is: ***!")
			assert.Equal(t, "last line ***", got.Result.Summary)
			for _, form := range []string{topSecret, base64.StdEncoding.EncodeToString([]byte(topSecret)), strings.ReplaceAll(topSecret, `"`, `\"`), topSecret[5:]} {
				assert.NotContains(t, everything, form)
			}
		}
	}
}

func TestASecretIsInNoProposal(t *testing.T) {
	t.Parallel()
	settings := shell(`echo "item $S"; echo "{$S" >&2; exit $1`, "0").with(block{"env": block{"S": block{"file": secretFile(t, topSecret)}}})
	got := detect(t, settings, jobtype.DetectInput{})
	require.NoError(t, got.Err)
	assert.Equal(t, []string{"item ***"}, got.Keys())
}

// grep colors a part of a line.
func TestASecretWithTerminalCodesIsMasked(t *testing.T) {
	t.Parallel()
	settings := shell(`printf "hunt\033[m\033[Ker2+ is it\n"; printf "hunt\033[m\033[Ker2+\n" >&2; exit $1`, "3").with(block{"env": block{"S": block{"file": secretFile(t, "hunter2+")}}})
	got := execute(t, settings, jobtype.Job{})
	require.ErrorContains(t, got.Err, "status 3: ***")
	assert.NotContains(t, got.Err.Error(), "hunter2")
	got = execute(t, settings.with(block{"exit_codes": block{"success": []int{3}}}), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Contains(t, got.Result.Output, "*** is it\n")
	assert.NotContains(t, got.Result.Output, "hunter2")
}

// The variables of env_file that are named like secrets are masked, and each line of a
// secret with several.
func TestLinesAndFilesAreMasked(t *testing.T) {
	t.Parallel()
	file := secretFile(t, "PGPASSWORD=from-a-file\nAPI_TOKEN='pa$$w/rd'\nPGHOST=localhost\n")
	pem := secretFile(t, "-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----\n")
	got := execute(t, shell(`echo "$PGPASSWORD $API_TOKEN $PGHOST"; echo "$K" | sed -n 3p`).with(block{"env_file": file, "env": block{"K": block{"file": pem}}}), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, "*** *** localhost\n***\n", got.Result.Output)
}

func TestSecretsOfSystemd(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pg"), []byte(topSecret), 0o400))
	settings := shell(leak, topSecret, "0").with(block{"env": block{"S": block{"credential": "pg"}}})
	got := execute(t, settings, jobtype.Job{})
	assert.ErrorContains(t, got.Err, "SECRET: env.S: credential pg: this worker has none: write LoadCredential=pg:PATH in its unit")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	got = execute(t, settings, jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Contains(t, got.Result.Output, "last line ***")
}

func TestSecretsThatCannotBeFound(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"SECRET: env.S: /no/such/file: no such file or directory":                      block{"file": "/no/such/file"},
		"execute.env.S: the template rendered to nothing":                              block{"file": "{{.Params.none}}"},
		"SECRET: env.S: the secret is empty":                                           block{"command": []string{"true"}},
		"SECRET: env.S: sh exited with status 4: no token for ***":                     block{"command": []string{"sh", "-c", "echo halfsecret; echo no token for halfsecret >&2; exit 4"}},
		`SECRET: env.S: command "no-such-program" cannot be started`:                   block{"command": []string{"no-such-program"}},
		"SECRET: env.S: the secret has a NUL byte":                                     block{"command": []string{"printf", `a\0b`}},
		"SECRET: env.S: cat was stopped: the secret has more than 65536 bytes":         block{"command": []string{"cat", "/dev/zero"}},
		"execute.env.S: write one of file, credential and command":                     block{"file": "/x", "credential": "y"},
		`execute.env.S: file: "x" is not an absolute path`:                             block{"file": "x"},
		`execute.env.S: credential: "a/b" is no name`:                                  block{"credential": "a/b"},
		"a value is text, {file: PATH}, {credential: NAME} or {command: [PROGRAM, …]}": block{"fil": "x"},
	} {
		got := execute(t, shell("echo started").with(block{"env": block{"S": value}}), jobtype.Job{Params: json.RawMessage(`{"none":""}`)})
		require.ErrorContains(t, got.Err, want)
		assert.Empty(t, got.Result.Output)
	}
}

// A cancel ends the search for a secret, too, and is no failed start.
func TestACancelDuringTheSearchForASecret(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	settings := shell("true").with(block{"env": block{"S": block{"command": []string{"sh", "-c", "touch $0; sleep 1000", mark}}}})
	errCanceled := errors.New("an operator has canceled it")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan error, 1)
	job := jobtype.Job{Settings: raw(t, settings)}
	go func() {
		done <- jobtypetest.Execute(ctx, newHandler(0), job).Err
	}()
	assert.Eventually(t, func() bool { _, err := os.Stat(mark); return err == nil }, time.Minute, time.Millisecond)
	cancel(errCanceled)
	assert.ErrorIs(t, <-done, errCanceled)
}
