package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
)

func script(text string) block { return block{"shell": text} }

func TestShellRunsBashWithAllKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := execute(t, script("[[ $PWD == {{.Params.dir}} ]]\nread -r line\necho \"$A $line $ROUNDSMAN_ATTEMPT $(umask)\"\nfalse | true\necho not reached").with(
		block{"dir": "{{.Params.dir}}", "env": block{"A": "{{.Params.a}}"}, "umask": "0027", "stdin": "data:hello\n"}), jobtype.Job{Params: raw(t, block{"dir": dir, "a": "x y"}), Attempt: 2})
	require.ErrorContains(t, got.Err, "bash exited with status 1: x y hello 2 0027", "pipefail and errexit")
	got = execute(t, script("echo a\necho $UNSET_OF_ROUNDSMAN"), jobtype.Job{})
	require.ErrorContains(t, got.Err, "shell: line 2: UNSET_OF_ROUNDSMAN: unbound variable", "nounset, with the line of the script")
	got = execute(t, script("exit 7").with(block{"exit_codes": block{"success": []int{7}}}), jobtype.Job{})
	require.NoError(t, got.Err)
}

// Hostile params reach the script as values: nothing is executed and no option or word is added.
func TestParamsAreNoPartOfTheScript(t *testing.T) {
	t.Parallel()
	pwned := filepath.Join(t.TempDir(), "pwned")
	for _, value := range []string{"; touch " + pwned, "$(touch " + pwned + ")", "`touch " + pwned + "`", "\"; touch " + pwned + "; \"", "'; touch " + pwned + " #", "x\ntouch " + pwned + "\ny", "a  b * ?"} {
		params := block{"item": value, "list": []any{value}}
		got := execute(t, script(`printf '<%s>' {{.Params.item}} "{{.Params.item}}" {{index .Params.list 0}}`), jobtype.Job{Params: raw(t, params)})
		require.NoError(t, got.Err)
		assert.Equal(t, "<"+value+"><"+value+"><"+value+">", got.Result.Output)
		found := detect(t, script(`printf '%q\n' {{.Params.item}}; echo {{.Params.item}} >&2`), jobtype.DetectInput{Params: raw(t, params)})
		require.NoError(t, found.Err)
		assert.Len(t, found.Proposals, 1)
		require.NoFileExists(t, pwned)
	}
	got := execute(t, script("echo {{.Params.item}}"), jobtype.Job{Params: raw(t, block{"item": "a\x00b"})})
	require.ErrorContains(t, got.Err, "NUL")
	assert.True(t, jobtype.IsPermanent(got.Err))
}

func TestShellIsChecked(t *testing.T) {
	t.Parallel()
	handler := newHandler(0)
	require.NoError(t, handler.ValidateSettings(nil, raw(t, script(`ls {{.Params.dir}} {{.Detect.WorkerID}}`)), raw(t, script("echo {{.Job.ID}}"))))
	for text, want := range map[string]string{
		"echo '{{.Params.x}}'":       "execute.shell: line 1 of the script: a value is not inserted between",
		"echo {{.Prams.x}}":          "execute.shell: there is no .Prams here",
		"if true\nthen echo\n":       "execute.shell: line 1 of the script: bash would not read it",
		"{{range .Batch}}x{{end}}":   "execute.shell: line 1 of the script: only {{…}} that inserts a value",
		"{{each}}{{.Item.Summary}}x": "execute.shell: not a valid template",
	} {
		require.ErrorContains(t, handler.ValidateSettings(nil, raw(t, shell("true")), raw(t, script(text))), want, text)
	}
	both := script("echo").with(block{"command": []string{"ls"}})
	require.ErrorContains(t, handler.ValidateSettings(nil, raw(t, both), raw(t, shell("true"))), "detect.shell: write command or shell, not both")
	job := jobtype.Job{Settings: raw(t, both)}
	_, err := handler.Execute(t.Context(), job, nil)
	require.ErrorContains(t, err, "not both")
}

// A node without bash never takes sh in its place.
func TestShellWithoutBash(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(dir, "sh")))
	t.Setenv("PATH", dir)
	got := execute(t, script("echo ran"), jobtype.Job{})
	require.ErrorContains(t, got.Err, "NO_BASH: shell needs bash on this node")
	require.ErrorContains(t, got.Err, "install it there, or write command: [sh, -c, …]")
	require.ErrorIs(t, got.Err, jobtype.ErrNotInstalled)
	assert.Empty(t, got.Result.Output)
	err := newHandler(0).CheckNode(t.Context(), nil, raw(t, script("echo ran")))
	require.ErrorContains(t, err, "execute.shell: NO_BASH")
	_, _, err = command.Line(jobtype.Job{Settings: raw(t, script("echo ran"))})
	require.NoError(t, err)
}
