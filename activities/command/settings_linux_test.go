package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/jobtype"
)

// ownNice is the priority of the tests, which is not 0 under the program nice.
func ownNice(t *testing.T) int {
	t.Helper()
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	require.NoError(t, err)
	return 20 - priority
}

func TestUmaskNiceAndIONice(t *testing.T) {
	t.Parallel()
	asRoot(t)
	own := ownNice(t)
	const show = `umask; nice; ionice -p $$; id -un; (umask; nice; ionice -p $$)`
	for want, keys := range map[string]block{
		"0077\n-5\nidle\nnobody\n0077\n-5\nidle\n":                                                       {"umask": "0077", "nice": -5, "ionice": "idle", "user": "nobody"},
		"0002\n10\nbest-effort: prio 7\nroot\n0002\n10\nbest-effort: prio 7\n":                           {"umask": "2", "nice": 10, "ionice": "best-effort:7"},
		fmt.Sprintf("0022\n%[1]d\nrealtime: prio 4\nroot\n0022\n%[1]d\nrealtime: prio 4\n", own):         {"umask": "022", "ionice": "realtime"},
		fmt.Sprintf("0750\n%[1]d\nbest-effort: prio 0\nnobody\n0750\n%[1]d\nbest-effort: prio 0\n", own): {"umask": "0750", "ionice": "best-effort:0", "user": "nobody"},
	} {
		got := execute(t, shell(show).with(keys), jobtype.Job{})
		require.NoError(t, got.Err)
		assert.Equal(t, want, got.Result.Output)
	}
	ordinaryOutput, err := ordinary(t, part{Script: "nice >&2; umask >&2; exit 7", Keys: block{"nice": own + 3, "umask": "0027"}})
	require.Error(t, err)
	assert.Contains(t, ordinaryOutput, fmt.Sprintf("%d\n0027", own+3))
	refused, err := ordinary(t, part{Script: "true", Keys: block{"nice": -3}})
	require.Error(t, err)
	assert.Contains(t, refused, "nice -3: permission denied")
}

func TestAWorkerKnowsItsRightsAtItsStart(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for want, keys := range map[string]block{
		"execute: NOT_ALLOWED: this worker may not set nice -3: add CAP_SYS_NICE":         {"nice": -3},
		"execute: NOT_ALLOWED: this worker may not set ionice realtime: add CAP_SYS_NICE": {"ionice": "realtime"},
		"execute: NOT_ALLOWED: this worker may not switch to user daemon":                 {"user": "daemon"},
		"execute: NO_USER: this node has no user no-such-user":                            {"user": "no-such-user"},
		"": {"nice": ownNice(t) + 3, "ionice": "idle", "umask": "0027", "user": "{{.Params.user}}"},
	} {
		output, err := ordinary(t, part{Check: true, Keys: keys})
		assert.Equal(t, want == "", err == nil, output)
		assert.Contains(t, output, want)
	}
}

func TestEnvFilesAndInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "env")
	require.NoError(t, os.WriteFile(file, []byte("# a comment\nA=from a file\nB = \"two\nlines\"\n"), 0o600))
	require.NoError(t, os.WriteFile(file+".input", []byte("the input\n"), 0o600))
	show := shell(`printf '%s|%s|%s|' "$A" "$B" "$C"; cat`).with(block{"env": block{"A": "a", "C": "c"}})

	got := execute(t, show.with(block{"env_file": []string{"-/no/such/file", "{{.Params.file}}"}}), jobtype.Job{Params: raw(t, block{"file": file})})
	require.NoError(t, got.Err)
	assert.Equal(t, "from a file|two\nlines|c|"+string(raw(t, block{"file": file})), got.Result.Output)

	for want, keys := range map[string]block{
		"|":            {"stdin": "none"},
		"|a text":      {"stdin": "data:a text"},
		"|the input\n": {"stdin": "file:" + file + ".input"},
	} {
		got = execute(t, shell(`printf '|'; cat`).with(keys), jobtype.Job{})
		require.NoError(t, got.Err)
		assert.Equal(t, want, got.Result.Output)
	}
	for want, keys := range map[string]block{
		"ENV_FILE: /no/such/file: no such file or directory":    {"env_file": "/no/such/file"},
		"ENV_FILE: env: the path is not absolute":               {"env_file": "env"},
		"ENV_FILE: " + file + ".input: line 1 is no NAME=VALUE": {"env_file": file + ".input"},
		"stdin: open /no/such/file: no such file":               {"stdin": "file:/no/such/file"},
		`execute.umask: "0888" is not octal`:                    {"umask": "0888"},
		"execute.nice: 20 is out of range":                      {"nice": 20},
		`execute.ionice: "idle:3" is none of`:                   {"ionice": "idle:3"},
		`execute.stdin: "nothing" is none of`:                   {"stdin": "nothing"},
	} {
		assert.ErrorContains(t, execute(t, shell("true").with(keys), jobtype.Job{}).Err, want)
	}
}

// A named pipe without a writer would block the job for good.
func TestANamedPipeIsNoFile(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for want, keys := range map[string]block{
		"ENV_FILE: " + pipe + ": it is no file":      {"env_file": pipe},
		"SECRET: env.S: " + pipe + ": it is no file": {"env": block{"S": block{"file": pipe}}},
		"stdin: open " + pipe + ": it is no file":    {"stdin": "file:" + pipe},
	} {
		assert.ErrorContains(t, execute(t, shell("true").with(keys), jobtype.Job{}).Err, want)
	}
	got := execute(t, shell("wc -c").with(block{"stdin": "file:/dev/null"}), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, "0\n", got.Result.Output)
}
