package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAJobsEndIsOneLineOfTheLog: with fields for a log shipper, and the output of the job stays
// readable.
func TestAJobsEndIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	b := executing(t, func(_ context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		fmt.Fprintln(jobtype.Log(progress), "reading block 7")
		return jobtype.Result{}, errors.New("disk on fire\nat block 7")
	}, func(o *Options) { o.Logger = slog.New(slog.NewJSONHandler(&logged, nil)) })
	in := input(`{}`)
	in.Job.DedupeKey, in.Job.Attempt = "sda1", 3
	b.run(t, in)

	var line map[string]any
	require.NoError(t, json.Unmarshal(logged.Bytes(), &line), "one line: %s", &logged)
	delete(line, "time")
	assert.NotEmpty(t, line["took"])
	delete(line, "took")
	assert.Equal(t, map[string]any{
		"level": "WARN", "msg": "job ended", "job": "job-00001", "run": "group/x-1", "job_type": "x", "key": "sda1",
		"attempt": 3.0, "outcome": "failed", "error": "disk on fire at block 7",
	}, line)
	printed := b.activities.Log(contract.LogQueryInput{GroupID: "group/x-1", JobID: "job-00001"})
	assert.True(t, printed.Known)
	assert.Equal(t, "reading block 7\n", printed.Text)
	assert.Equal(t, 3, printed.Attempt)
	assert.False(t, b.activities.Log(contract.LogQueryInput{GroupID: "group/x-1", JobID: "job-00002"}).Known)
}

// TestADeferralIsNoWarningOfTheLog: a guard may be checked each second.
func TestADeferralIsNoWarningOfTheLog(t *testing.T) {
	t.Parallel()
	for outcome, deferral := range map[string]error{"deferred": jobtype.Defer(time.Minute, "not now"), "guard": jobtype.DeferGuard(time.Minute, "not now")} {
		var logged bytes.Buffer
		b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, deferral
		}, func(o *Options) { o.Logger = slog.New(slog.NewJSONHandler(&logged, nil)) })
		b.run(t, input(`{}`))
		var line map[string]any
		require.NoError(t, json.Unmarshal(logged.Bytes(), &line), "one line: %s", &logged)
		assert.Equal(t, []any{"INFO", outcome, "not now"}, []any{line["level"], line["outcome"], line["error"]})
	}
}
