package command_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
)

func TestUnknownFieldsOfTemplatesAreFaults(t *testing.T) {
	t.Parallel()
	handler := command.New(command.Options{})
	check := func(execute block) error {
		return handler.ValidateSettings(nil, raw(t, block{"command": []string{"ls"}}), raw(t, execute))
	}
	require.NoError(t, check(block{
		"command": []string{"x", "{{.Run.ID}} {{.Run.Started}} {{.Job.Fence}}"}, "dir": "/srv/{{.Worker.Labels.site}}", "env_file": "/etc/{{.Worker.ID}}",
		"env": block{"DAY": `{{.Schedule.Time.Format "2006-01-02"}}`}, "stdin": "data:{{.Run.JobType}}",
	}))
	for _, c := range []struct {
		execute block
		want    string
	}{
		{block{"command": []string{"x", "{{.Run.Stared}}"}}, "execute.command[1]: .Run has no field Stared; did you mean .Run.Started?"},
		{block{"command": []string{"x"}, "env": block{"A": "{{.Job.Fense}}"}}, "execute.env.A: .Job has no field Fense; did you mean .Job.Fence?"},
		{block{"command": []string{"x"}, "dir": "{{.Shedule.Time}}"}, "execute.dir: there is no .Shedule here; a template knows .Params, .Cluster, .Job, .Batch, .Run, .Schedule, .Worker; did you mean .Schedule?"},
		{block{"shell": "true\ntrue\necho {{.Worker.Label.x}}\n"}, "execute.shell: line 3: .Worker has no field Label; did you mean .Worker.Labels?"},
	} {
		require.ErrorContains(t, check(c.execute), c.want)
	}
}

func TestARunIsInTheEnvironment(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	settings := shell(`env | grep -E '^ROUNDSMAN_(SCHED|RUN|WORKER_LABEL)' | sort`)
	settings["dir"] = "{{.Worker.Labels.dir}}"
	got := execute(t, settings, jobtype.Job{
		Run: jobtype.RunInfo{ID: "group/x", StartedAt: at.Add(time.Hour), ScheduledAt: at}, WorkerLabels: map[string]string{"dir": "/", "disk-type": "ssd"},
	})
	require.NoError(t, got.Err)
	assert.Equal(t, `ROUNDSMAN_RUN_STARTED_AT=2026-03-01T03:00:00Z
ROUNDSMAN_SCHEDULED_AT=2026-03-01T02:00:00Z
ROUNDSMAN_WORKER_LABEL_DIR=/
ROUNDSMAN_WORKER_LABEL_DISK_TYPE=ssd
`, got.Result.Output)
}
