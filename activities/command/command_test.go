package command_test

import (
	"encoding/json"
	"errors"
	"maps"
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

func raw(t *testing.T, value any) json.RawMessage {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return encoded
}

type block map[string]any

// with adds keys to a block.
func (b block) with(keys block) block {
	maps.Copy(b, keys)
	return b
}

// shell is a block whose program is an sh script; arguments are $1, $2, ….
func shell(script string, arguments ...string) block {
	return block{"command": append([]string{"sh", "-c", script, "sh"}, arguments...)}
}

func detect(t *testing.T, settings block, in jobtype.DetectInput) jobtypetest.Detection {
	t.Helper()
	in.Settings = raw(t, settings)
	return jobtypetest.Detect(t.Context(), newHandler(0), in)
}

func execute(t *testing.T, settings block, job jobtype.Job, options ...jobtypetest.Option) jobtypetest.Execution {
	t.Helper()
	job.Settings = raw(t, settings)
	return jobtypetest.Execute(t.Context(), newHandler(300*time.Millisecond), job, options...)
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.log", "a.log"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600))
	}
	jobtypetest.Check(t, newHandler(0), jobtypetest.Case{
		Input: jobtype.DetectInput{
			Params:   raw(t, block{"dir": dir}),
			Settings: raw(t, shell(`ls "$1"/*.log`, "{{.Params.dir}}")),
		},
		ExecuteSettings: raw(t, shell(`echo "::progress 50 packing"; gzip -kf -- "$1"`, "{{.Params.item}}")),
	})
	assert.FileExists(t, filepath.Join(dir, "a.log.gz"))
}

func TestDetectLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	got := detect(t, shell(`printf 'one\n\ntwo words; rm -rf /\r\none\n`+long+`\nlast without newline'`), jobtype.DetectInput{})
	require.NoError(t, got.Err)
	require.Len(t, got.Proposals, 4)
	assert.Equal(t, []string{"one", "two words; rm -rf /", jobtype.KeyOf(long), "last without newline"}, got.Keys())
	assert.Equal(t, 1, got.Duplicates)
	assert.JSONEq(t, `{"item":"two words; rm -rf /"}`, string(got.Proposals[1].Params))
	assert.Contains(t, string(got.Proposals[2].Params), long, "the item is whole though its key is cut")
	assert.Equal(t, "one", got.Proposals[0].Summary)
}

func TestDetectNothingIsFine(t *testing.T) {
	t.Parallel()
	got := detect(t, shell(`true`), jobtype.DetectInput{})
	require.NoError(t, got.Err)
	assert.Empty(t, got.Proposals)
}

func TestDetectJSON(t *testing.T) {
	t.Parallel()
	proposal := block{
		"dedupe_key": "volume/1", "summary": "s", "detail": "d", "priority": "high", "params": block{"n": 1}, "labels": block{"a": "b"}, "node": "node-a",
		"resources": block{"disk": 1}, "exclusive": []string{"volume/1"}, "not_before": "2026-03-01T12:00:00Z", "expires_at": "2026-03-02T12:00:00Z", "estimated_runtime": "1h", "dag": "x",
	}
	settings := shell(`printf '%s\n' "$@"`, string(raw(t, proposal)), `{"dedupe_key":"a","sumary":"x"}`, `{"dedupe_key":"b"} {}`, `[1]`, `not json`, `{"priority":"urgent","dedupe_key":"c"}`, `{}`)
	settings["format"] = "json"
	got := detect(t, settings, jobtype.DetectInput{})
	require.NoError(t, got.Err, "good lines continue")
	require.Len(t, got.Proposals, 2)
	assert.JSONEq(t, string(raw(t, proposal)), string(raw(t, got.Proposals[0])))
	require.Len(t, got.Invalid, 5)
	for i, want := range []string{"line 2: not a proposal as JSON: unknown key \"sumary\"", "line 3: more than one JSON value", "line 4:", "line 5:", "line 6: priority \"urgent\" is none of"} {
		assert.ErrorContains(t, got.Invalid[i], want)
	}
	assert.Equal(t, "c", got.Invalid[4].DedupeKey)
}

func TestDetectOnlyGarbageFailsWithTheLines(t *testing.T) {
	t.Parallel()
	settings := shell(`printf 'usage: x\n\377\376\n'; head -c 300000 /dev/zero; echo; echo ok`)
	settings["format"] = "json"
	got := detect(t, settings, jobtype.DetectInput{})
	for _, want := range []string{"printed 4 lines and none of them is a proposal (format: json)", "line 1: not a proposal", "line 2: not valid UTF-8", "line 3: longer than 262144 bytes", "line 4:"} {
		require.ErrorContains(t, got.Err, want)
	}
	assert.Len(t, got.Invalid, 4)
	assert.Less(t, len(got.Err.Error()), 2000)
}

func TestDetectHugeAndBinaryLinesAreNamedAndOthersGoOn(t *testing.T) {
	t.Parallel()
	got := detect(t, shell(`echo one; head -c 10000000 /dev/zero | tr '\0' x; echo; printf 'caf\351\n'; head -c 4090 /dev/zero | tr '\0' y; echo; echo five`), jobtype.DetectInput{})
	require.NoError(t, got.Err)
	assert.Equal(t, []string{"one", "five"}, got.Keys())
	require.Len(t, got.Invalid, 3)
	assert.ErrorContains(t, got.Invalid[0], `line 2: longer than 262144 bytes, it begins with "xxx`)
	assert.ErrorContains(t, got.Invalid[1], `line 3: not valid UTF-8: "caf\xe9"`)
	assert.ErrorContains(t, got.Invalid[2], "line 4: encoded it has")
}

// encoding/json accepts these proposals, but no author means them.
func TestDetectTakesExactlyTheKeysOfAProposal(t *testing.T) {
	t.Parallel()
	settings := shell(`echo null; echo '{"Dedupe_Key":"a"}'; echo '{"dedupe_key":"b","SUMMARY":"x"}'; echo '  {"dedupe_key":"c"}'`)
	settings["format"] = "json"
	got := detect(t, settings, jobtype.DetectInput{})
	require.NoError(t, got.Err)
	assert.Equal(t, []string{"c"}, got.Keys())
	require.Len(t, got.Invalid, 3)
	for i, want := range []string{"line 1: null is no proposal", `line 2: not a proposal as JSON: unknown key "Dedupe_Key"`, `line 3: not a proposal as JSON: unknown key "SUMMARY"`} {
		assert.ErrorContains(t, got.Invalid[i], want)
	}
}

func TestDetectCountsTheSurplus(t *testing.T) {
	t.Parallel()
	got := detect(t, block{"command": []string{"seq", "100001"}}, jobtype.DetectInput{MaxResults: 100_000})
	require.NoError(t, got.Err)
	assert.Len(t, got.Proposals, 100_000)
	assert.Equal(t, 1, got.Surplus)
	assert.False(t, got.More)

	got = detect(t, block{"command": []string{"seq", "100000"}}, jobtype.DetectInput{MaxResults: 100})
	require.NoError(t, got.Err)
	assert.Equal(t, 100_000-100, got.Surplus, "exact")
	assert.False(t, got.More)
}

func TestDetectStopsAProgramThatPrintsForEver(t *testing.T) {
	t.Parallel()
	settings := block{"command": []string{"yes", `{}`}, "format": "json"}
	in := jobtype.DetectInput{MaxResults: 10, Settings: raw(t, settings)}
	got := jobtypetest.Detect(t.Context(), newHandler(0).CountAtMost(20_000), in)
	require.NoError(t, got.Err, "a full sink is no failure")
	assert.Len(t, got.Proposals, 10)
	assert.GreaterOrEqual(t, got.Surplus, 20_000)
	assert.True(t, got.More, "the count is not exact")
}

func TestDetectFailures(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string]block{
		"sh exited with status 3: disk on fire":                     shell(`echo item; echo disk on fire >&2; exit 3`),
		"exited with status 1 and said nothing":                     shell(`exit 1`),
		"killed by a signal (killed)":                               shell(`kill -9 $$`),
		`command "no-such-program-anywhere" cannot be started`:      {"command": []string{"no-such-program-anywhere"}},
		"detect.command: name a program":                            nil,
		`map has no entry for key "dri"`:                            shell(`true`, "{{.Params.dri}}"),
		"working directory: stat /no/such/dir":                      {"command": []string{"true"}, "dir": "/no/such/dir"},
		"detect.command[0]: the template rendered to nothing":       {"command": []string{"{{.Params.empty}}"}},
		"detect.command[1]: the value \"a\\x00b\" holds a NUL byte": {"command": []string{"echo", "{{.Params.nul}}"}},
		"detect.exit_codes.permanent":                               {"command": []string{"true"}, "exit_codes": block{"permanent": []int{1}}},
	} {
		in := jobtype.DetectInput{Params: json.RawMessage(`{"empty":"","nul":"a\u0000b"}`)}
		if settings == nil {
			got := jobtypetest.Detect(t.Context(), newHandler(0), in)
			assert.ErrorContains(t, got.Err, want)
			continue
		}
		assert.ErrorContains(t, detect(t, settings, in).Err, want)
	}
}

func TestDetectSuccessCodesAndInput(t *testing.T) {
	t.Parallel()
	settings := shell(`cat; echo; echo "$ROUNDSMAN_JOB_TYPE on $ROUNDSMAN_WORKER_ID max $1 $2"; exit 1`, "{{.Detect.MaxResults}}", "{{.Cluster.name}}")
	settings["exit_codes"] = block{"success": []int{0, 1}}
	got := detect(t, settings, jobtype.DetectInput{
		JobType: "clean", WorkerID: "node-a", MaxResults: 7, Params: json.RawMessage(`{"n": 12345678}`), Cluster: json.RawMessage(`{"name":"east"}`),
	})
	require.NoError(t, got.Err)
	assert.Equal(t, []string{`{"n": 12345678}`, "clean on node-a max 7 east"}, got.Keys())
}

func TestSinkErrorStopsTheProgram(t *testing.T) {
	t.Parallel()
	sink := refusingSink{errors.New("the group is gone")}
	err := newHandler(0).Detect(t.Context(), jobtype.DetectInput{Settings: raw(t, shell(`seq 200; sleep 1000`))}, sink)
	require.ErrorIs(t, err, sink.error)
	require.ErrorContains(t, err, "sh was stopped: the group is gone")
}

func TestValidateSettings(t *testing.T) {
	t.Parallel()
	handler := newHandler(0)
	good := raw(t, shell(`true`, `{{if .Params.x}}{{.Params.y | printf "%d"}}{{end}}`, `{{range .Params.list}}{{.name}}{{end}}`, `{{json .Cluster}}`))
	require.NoError(t, handler.ValidateSettings(nil, good, good))

	err := handler.ValidateSettings(nil,
		json.RawMessage(`{"command":["find","{{.Job.ID}}","{{if .Params.x}}{{(.Parmas.y)}}{{end}}"],"format":"xml","kill_grace":"2h","env":{"A=B":"{{","C":"{{.Detect.Sequence}}"}}`),
		json.RawMessage(`{"command":[],"progress":"maybe","exit_codes":{"success":[7],"permanent":[7,300]}}`))
	for _, want := range []string{
		"detect.command[1]: there is no .Job here; a template knows .Params, .Cluster, .Detect", "detect.command[2]: there is no .Parmas here",
		`detect.format: "xml"`, "detect.kill_grace: 2h is out of range", `detect.env: "A=B"`, "detect.env.A=B: not a valid template: ",
		"execute.command: name a program", `execute.progress: "maybe"`, "execute.exit_codes: 7 cannot be both", "execute.exit_codes: 300 is no exit code",
	} {
		assert.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, handler.ValidateSettings(nil, json.RawMessage(`{"comand":["x"]}`), json.RawMessage(`{"command":"ls"}`)), `unknown field "comand"`)
	require.ErrorContains(t, handler.ValidateSettings(nil, nil, nil), "execute: the command handler needs")
}

type refusingSink struct{ error }

func (s refusingSink) Emit(_ contextT, _ ...jobtype.Proposal) error { return s.error }
