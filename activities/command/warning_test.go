package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func TestAWarningIsASuccessThatSaysWhy(t *testing.T) {
	t.Parallel()
	codes := block{"exit_codes": block{"success": []int{0}, "warning": []int{1, 24}, "permanent": []int{2}}}
	got := execute(t, shell("echo done; echo some files vanished >&2; exit 24").with(codes), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, "sh exited with status 24: some files vanished", got.Result.Warning)
	assert.Equal(t, 24, got.Result.Data["exit_code"])
	assert.Contains(t, got.Result.Output, "done")

	got = execute(t, shell("exit 0").with(codes), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Empty(t, got.Result.Warning)
	require.Error(t, execute(t, shell("exit 3").with(codes), jobtype.Job{}).Err, "codes that are not listed fail")
	require.Error(t, execute(t, shell("kill -9 $$").with(codes), jobtype.Job{}).Err, "a signal is no exit code")

	found := detect(t, shell("echo a; echo one host is away >&2; exit 1").with(block{"exit_codes": block{"warning": []int{1}}}), jobtype.DetectInput{})
	require.NoError(t, found.Err)
	assert.Len(t, found.Proposals, 1)
	assert.Equal(t, []string{"sh exited with status 1: one host is away"}, found.Explanations)
}
