package quickstart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/activities/scrub"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/examples/quickstart"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

func load(t *testing.T, source []byte) *config.Config {
	t.Helper()
	commands, scrubber := command.New(command.Options{}), scrub.New(scrub.Options{})
	loaded, err := config.Load(config.Options{
		Sources:    []config.Source{{Name: "quickstart", Data: source}},
		Handlers:   []jobtype.Descriptor{commands.Descriptor(), scrubber.Descriptor()},
		Validators: map[string]jobtype.SettingsValidator{command.Name: commands, scrub.Name: scrubber},
	})
	require.NoError(t, err)
	return loaded
}

func TestConfigIsValid(t *testing.T) {
	t.Parallel()
	loaded := load(t, quickstart.Config)
	require.Len(t, loaded.JobTypes, 2)
	for name, jobType := range loaded.JobTypes {
		assert.True(t, jobType.Enabled, name)
		assert.Equal(t, 8, jobType.Policy.GlobalExecutionConcurrency, name)
		assert.Equal(t, 4, jobType.Policy.PerWorkerExecutionConcurrency, name)
	}
	assert.Equal(t, 2*time.Minute, loaded.JobTypes["scrub"].Schedule.Every.Std())
	assert.Equal(t, time.Minute, loaded.JobTypes["compress_logs"].Schedule.Every.Std())
	assert.JSONEq(t, `{"dir":"`+quickstart.LogDir+`"}`, string(loaded.JobTypes["compress_logs"].Params))
}

func TestConfigForAnotherDirectory(t *testing.T) {
	t.Parallel()
	dir := `/tmp/with "quotes", {braces}: and # more`
	source, err := quickstart.ConfigFor(dir)
	require.NoError(t, err)
	var params struct{ Dir string }
	require.NoError(t, json.Unmarshal(load(t, source).JobTypes["compress_logs"].Params, &params))
	assert.Equal(t, dir, params.Dir)
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	first, second := filepath.Join(t.TempDir(), "deep", "logs"), t.TempDir()
	require.NoError(t, quickstart.Prepare(first))
	require.NoError(t, quickstart.Prepare(second))
	entries, err := os.ReadDir(first)
	require.NoError(t, err)
	require.Len(t, entries, 40)
	for _, entry := range entries {
		one, err := os.ReadFile(filepath.Join(first, entry.Name()))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(second, entry.Name()))
		require.NoError(t, err)
		assert.Equal(t, one, other, "the same every time")
		assert.GreaterOrEqual(t, len(one), 9<<10)
		assert.LessOrEqual(t, len(one), 200<<10)
	}

	name := filepath.Join(first, entries[0].Name())
	require.NoError(t, os.WriteFile(name, []byte("written by somebody"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(first, entries[1].Name())))
	require.NoError(t, quickstart.Prepare(first))
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "written by somebody", string(kept))
	assert.FileExists(t, filepath.Join(first, entries[1].Name()))
	require.ErrorContains(t, quickstart.Prepare(filepath.Join(name, "below a file")), "prepare the quickstart")
}

// TestCompressLogs runs the job type as a worker would: all logs, and one of them again after the report of its
// first attempt was lost.
func TestCompressLogs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs of $(id) ; x")
	require.NoError(t, quickstart.Prepare(dir))
	source, err := quickstart.ConfigFor(dir)
	require.NoError(t, err)
	jobType, handler := load(t, source).JobTypes["compress_logs"], command.New(command.Options{})
	input := jobtype.DetectInput{Params: jobType.Params, Settings: jobType.Detect, MaxResults: 1000}
	found := jobtypetest.Detect(t.Context(), handler, input)
	require.NoError(t, found.Err)
	require.Len(t, found.Proposals, 40)
	for _, proposal := range found.Proposals {
		job, err := jobtypetest.JobOf(input, proposal, jobType.Execute)
		require.NoError(t, err)
		done := jobtypetest.Execute(t.Context(), handler, job)
		require.NoError(t, done.Err)
		assert.Regexp(t, `^\d+ bytes to \d+$`, done.Result.Summary)
		assert.Len(t, done.Reports, 3)
		assert.FileExists(t, proposal.DedupeKey+".gz")
		assert.NoFileExists(t, proposal.DedupeKey)
		if proposal.DedupeKey == found.Proposals[0].DedupeKey {
			again := jobtypetest.Execute(t.Context(), handler, job)
			require.NoError(t, again.Err)
			assert.Equal(t, "compressed before", again.Result.Summary)
		}
	}
	assert.Empty(t, jobtypetest.Detect(t.Context(), handler, input).Proposals)
}
