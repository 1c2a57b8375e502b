package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

func TestAnExitCodeDefers(t *testing.T) {
	t.Parallel()
	codes := block{"exit_codes": block{"defer": block{"75": "5m"}}}
	got := execute(t, shell("echo a lock is held >&2; exit 75").with(codes), jobtype.Job{})
	deferral := jobtype.AsDeferral(got.Err)
	require.NotNil(t, deferral, "%v", got.Err)
	assert.Equal(t, jobtype.Deferral{After: jobtype.Duration(5 * time.Minute), Reason: "sh exited with status 75: a lock is held"}, *deferral)
	assert.False(t, jobtype.IsPermanent(got.Err))

	assert.Nil(t, jobtype.AsDeferral(execute(t, shell("exit 74").with(codes), jobtype.Job{}).Err))
	assert.Nil(t, jobtype.AsDeferral(execute(t, shell("kill -9 $$").with(codes), jobtype.Job{}).Err))
	assert.ErrorContains(t, detect(t, shell("exit 75").with(codes), jobtype.DetectInput{}).Err, "exit_codes.defer, guard and hooks are for jobs")
}

// TestAGuardRunsFirst: in the same directory and with the same variables as the program.
func TestAGuardRunsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := block{"dir": dir, "env": block{"MARK": "{{.Params.mark}}"}, "guard": block{
		"command": []string{"sh", "-c", `cat; echo "lag of $1"; echo 40 s too much >&2; test -e "$MARK"`, "sh", "{{.Params.mark}}"}, "every": "7s",
	}}
	job := jobtype.Job{Params: []byte(`{"mark":"go"}`)}
	got := execute(t, shell("cat; touch ran").with(keys), job)
	deferral := jobtype.AsDeferral(got.Err)
	require.NotNil(t, deferral, "%v", got.Err)
	assert.Equal(t, jobtype.Deferral{After: jobtype.Duration(7 * time.Second), Reason: deferral.Reason, Guard: true}, *deferral)
	assert.Contains(t, []string{"40 s too much", "lag of go"}, deferral.Reason, "the last line of both outputs")
	assert.NoFileExists(t, filepath.Join(dir, "ran"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	got = execute(t, shell("cat; touch ran").with(keys), job)
	require.NoError(t, got.Err)
	assert.FileExists(t, filepath.Join(dir, "ran"))
	assert.JSONEq(t, `{"mark":"go"}`, got.Result.Output, "the guard has not taken the input, and its output is not the job's")

	silent := execute(t, shell("true").with(block{"guard": block{"command": []string{"false"}}}), jobtype.Job{})
	assert.ErrorContains(t, silent.Err, "false exited with status 1")
	missing := execute(t, shell("true").with(block{"guard": block{"command": []string{"/no/guard"}}}), jobtype.Job{})
	require.ErrorIs(t, missing.Err, jobtype.ErrNotInstalled)
	assert.ErrorContains(t, missing.Err, "guard: ")
}

// TestAStoppedGuardBeganNothing: a held job still waits for its worker.
func TestAStoppedGuardBeganNothing(t *testing.T) {
	t.Parallel()
	for cause, began := range map[error]bool{jobtype.ErrCanceled: false, jobtype.ErrDraining: false, jobtype.ErrDeadline: true} {
		mark := filepath.Join(t.TempDir(), "began")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			assert.Eventually(t, func() bool { _, err := os.Stat(mark); return err == nil }, time.Minute, time.Millisecond)
			cancel(cause)
		}()
		guarded := shell("true").with(block{"guard": block{"command": []string{"sh", "-c", "touch " + mark + "; sleep 600"}}})
		job := jobtype.Job{Settings: raw(t, guarded)}
		got := jobtypetest.Execute(ctx, newHandler(0), job)
		require.ErrorIs(t, got.Err, cause)
		assert.Equal(t, began, !errors.Is(got.Err, jobtype.ErrAtCapacity), "%v", got.Err)
		got = jobtypetest.Execute(ctx, newHandler(0), job)
		require.ErrorIs(t, got.Err, cause)
		assert.Equal(t, began, !errors.Is(got.Err, jobtype.ErrAtCapacity), "before the guard: %v", got.Err)
	}
}
