package runview_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/runview"
	"github.com/roundsman/roundsman/jobtype"
)

func TestViewsRender(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 30, 0, 0, time.FixedZone("", 3600))
	data := map[string]any{}
	runview.Add(data, jobtype.RunInfo{ID: "group/dump-1", StartedAt: at.Add(time.Minute), ScheduledAt: at}, "dump")
	for text, want := range map[string]string{
		"{{.Run.ID}} {{.Run.JobType}} {{.Run.Started}}":           "group/dump-1 dump 2026-03-01T01:31:00Z",
		"{{.Schedule.Time}}":                                      "2026-03-01T01:30:00Z",
		`{{.Schedule.Time.Format "2006-01-02"}}`:                  "2026-03-01",
		`{{.Schedule.Time.Unix}}`:                                 "1772328600",
		`{{(.Schedule.Time.AddDate 0 0 -1).Format "2006/01/02"}}`: "2026/02/28",
	} {
		parsed, err := gotemplate.New("t", text, []string{"Run", "Schedule"})
		require.NoError(t, err, text)
		got, err := parsed.Execute(data)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestUnknownFieldsAreFaults(t *testing.T) {
	t.Parallel()
	run, schedule, worker := reflect.TypeFor[runview.Run](), reflect.TypeFor[runview.Schedule](), reflect.TypeFor[runview.Worker]()
	for _, c := range []struct {
		root string
		view reflect.Type
		path []string
		want string
	}{
		{"Run", run, []string{"Started"}, ""},
		{"Run", run, []string{"Stared"}, ".Run has no field Stared; did you mean .Run.Started?"},
		{"Run", run, []string{"Weekday"}, ".Run has no field Weekday; it has ID, JobType, Started"},
		{"Schedule", schedule, []string{"Time", "Format"}, ""},
		{"Schedule", schedule, []string{"Time", "Formt"}, ".Schedule.Time has no field Formt; did you mean .Schedule.Time.Format?"},
		{"Schedule", schedule, []string{"At"}, ".Schedule has no field At; it has Time"},
		{"Worker", worker, []string{"Labels", "any", "more"}, ""},
		{"Worker", worker, []string{"Label"}, ".Worker has no field Label; did you mean .Worker.Labels?"},
	} {
		assert.Equal(t, c.want, runview.Fault(c.root, c.view, c.path), "%s %v", c.root, c.path)
	}
}
