package authoring

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/jobtype"
)

// roles authenticate a caller by the name of a built-in role.
type roles struct{}

func (roles) Authenticate(r *http.Request) (api.Caller, error) {
	role := r.Header.Get("Who")
	return api.Caller{Name: role, Auth: "key", Rights: access.Policy{}.Grant(role, nil, nil)}, nil
}

func send(t *testing.T, handler http.Handler, who, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, api.Prefix+path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Who", who)
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// TestRequestsThatNeedNoServerToBeRefused: the API has no client, so a request that passes panics.
func TestRequestsThatNeedNoServerToBeRefused(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Options{Auth: roles{}, Bare: true, Extra: []func(*api.API){Operations}}).Handler()
	const good = `"document": "version: 1\nname: x\ntasks: [{id: a, noop: true}]\n"`
	for name, row := range map[string]struct {
		who, method, path, body string
		status                  int
		says                    string
	}{
		"an apply of no plan":                       {access.Admin, "POST", "/apply", `{"document": "version: 1"}`, 428, "If-Match"},
		"an apply by a viewer":                      {access.Viewer, "POST", "/apply", `{"document": "version: 1"}`, 403, "may not"},
		"an empty document":                         {access.Admin, "POST", "/validate", `{"document": ""}`, 422, "body.document"},
		"a document that is no YAML":                {access.Admin, "POST", "/validate", `{"document": "a: [\n"}`, 422, "line"},
		"a document of another version":             {access.Admin, "POST", "/plan", `{"document": "version: 99\n"}`, 422, "version"},
		"neither settings nor a document":           {access.Admin, "PATCH", "/job-types/scrub/settings", `{}`, 422, "one of them"},
		"settings and a document":                   {access.Admin, "PATCH", "/job-types/scrub/settings", `{"settings": {}, "document": "x"}`, 422, "one of them"},
		"a dry run of neither":                      {access.Admin, "PATCH", "/job-types/scrub/settings?dry_run=true", `{}`, 422, "one of them"},
		"a retry of a job type from a task":         {access.Operator, "POST", "/runs/scrub-1/retry", `{"from": ["a"]}`, 422, "runs of DAGs"},
		"a retry of a job type with a deadline":     {access.Operator, "POST", "/runs/scrub-1/retry", `{"deadline": "1h"}`, 422, "runs of DAGs"},
		"a retry of a job type with a document":     {access.Operator, "POST", "/runs/scrub-1/retry", `{` + good + `}`, 422, "runs of DAGs"},
		"a preview of a job type with files":        {access.Operator, "POST", "/runs/scrub-1/retry-preview", `{"files": {"a": "b"}}`, 422, "runs of DAGs"},
		"a retry of a job type by a viewer":         {access.Viewer, "POST", "/runs/scrub-1/retry", `{}`, 403, "may not"},
		"a retry of a DAG by items":                 {access.Operator, "POST", "/runs/x~1/retry", `{"items": ["a"]}`, 422, "runs of job types"},
		"a retry of what failed in a DAG":           {access.Operator, "POST", "/runs/x~1/retry", `{"failed": true}`, 422, "runs of job types"},
		"a preview of what was missed in a DAG":     {access.Operator, "POST", "/runs/x~1/retry-preview", `{"missed": true}`, 422, "runs of job types"},
		"a retry with params for no document":       {access.Operator, "POST", "/runs/x~1/retry", `{"params": {"a": 1}}`, 422, "send its document"},
		"a retry that takes differences of nothing": {access.Operator, "POST", "/runs/x~1/retry", `{"accept_diff": true}`, 422, "send its document"},
		"a retry with a short deadline":             {access.Operator, "POST", "/runs/x~1/retry", `{"deadline": "999ms"}`, 422, "at least 1s"},
		"a retry with a negative deadline":          {access.Operator, "POST", "/runs/x~1/retry", `{"deadline": "-1h"}`, 422, "deadline"},
		"a retry with a bad name":                   {access.Operator, "POST", "/runs/x~1/retry", `{"as": "a/b"}`, 422, "a/b"},
		"a retry with a document by an operator":    {"operator", "POST", "/runs/x~1/retry", `{` + good + `}`, 403, "which a document needs"},
		"a retry with a document with faults":       {access.Admin, "POST", "/runs/x~1/retry", `{"document": "version: 1\nname: x\ntasks: [{id: a}]\n"}`, 422, "line"},
		"a DAG by an operator":                      {access.Operator, "POST", "/dag-runs", `{` + good + `}`, 403, "may not"},
		"a DAG with a bad name of its run":          {access.Admin, "POST", "/dag-runs", `{` + good + `, "as": "a b"}`, 422, "a b"},
		"a DAG with a short deadline":               {access.Admin, "POST", "/dag-runs?dry_run=true", `{` + good + `, "deadline": "1ms"}`, 422, "at least 1s"},
		"a DAG with a cycle":                        {access.Admin, "POST", "/dag-runs/validate", `{"document": "version: 1\nname: x\ntasks: [{id: a, noop: true, needs: [b]}, {id: b, noop: true, needs: [a]}]\n"}`, 422, "line"},
		"a submission of nothing":                   {access.Admin, "POST", "/job-types/scrub/submissions", `{"proposals": []}`, 422, "body.proposals"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := send(t, handler, row.who, row.method, row.path, row.body)
			require.Equal(t, row.status, answer.Code, answer.Body.String())
			var refused problem.Problem
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &refused))
			assert.Contains(t, answer.Body.String(), row.says)
		})
	}
}

// TestNextInstantsLeaveNoneOut compares with a look at each five minutes, in zones whose clocks do not change.
func TestNextInstantsLeaveNoneOut(t *testing.T) {
	t.Parallel()
	crons := map[string]crontab.Expression{}
	for _, text := range []string{"0 2 * * *", "30 2 * * *", "15 0 * * *", "30 23 * * *", "*/20 1 * * *", "0 0 * * *"} {
		expression, err := crontab.Parse(text)
		require.NoError(t, err)
		crons[text] = expression
	}
	names := slices.Sorted(maps.Keys(crons))
	rapid.Check(t, func(t *rapid.T) {
		schedule := contract.ScheduleSpec{
			Cron:     rapid.SliceOfN(rapid.SampledFrom(names), 1, 2).Draw(t, "cron"),
			Timezone: rapid.SampledFrom([]string{"", "Asia/Kolkata", "America/Sao_Paulo"}).Draw(t, "zone"),
			Days:     rapid.SampledFrom([][]string{nil, {"sun"}, {"mon", "wed"}}).Draw(t, "days"),
			Except:   rapid.SampledFrom([][]string{nil, {"2026-03-29", "2026-10-25", "2026-04-05", "2026-09-06"}}).Draw(t, "except"),
		}
		from := rapid.SampledFrom([]string{"2026-03-28T00:00:00Z", "2026-10-24T12:30:00Z", "2026-04-04T11:00:00Z", "2026-09-05T20:00:00Z", "2026-06-30T23:55:00Z"}).Draw(t, "from")
		after, err := time.Parse(time.RFC3339, from)
		require.NoError(t, err)
		zone, err := time.LoadLocation(schedule.Timezone)
		require.NoError(t, err)
		on, err := window.On(schedule.Days)
		require.NoError(t, err)
		found, err := nextInstants(schedule, after, 3)
		require.NoError(t, err)
		var want []time.Time
		for at := after.Add(5 * time.Minute); len(want) < 3 && at.Before(after.AddDate(0, 1, 0)); at = at.Add(5 * time.Minute) {
			local := at.In(zone)
			if local.Hour() > 3 && local.Hour() < 23 || !slices.Contains([]int{0, 15, 20, 30, 40}, local.Minute()) || !on(local) || slices.Contains(schedule.Except, local.Format(time.DateOnly)) {
				continue
			}
			if slices.ContainsFunc(schedule.Cron, func(text string) bool { return crons[text].Next(local.Add(-time.Second)).Equal(at) }) {
				want = append(want, at)
			}
		}
		require.Equal(t, want, found)
	})
}

// TestNextInstantsAreThoseOfTemporal: no midnight begins 6 September 2026 in Santiago, and Temporal takes it for one of
// the day before. On Lord Howe the clocks change by half an hour.
func TestNextInstantsAreThoseOfTemporal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of   contract.ScheduleSpec
		from time.Time
		want []string
	}{
		{
			contract.ScheduleSpec{Cron: []string{"30 23 * * *"}, Days: []string{"sun"}, Timezone: "America/Santiago"},
			time.Date(2026, 9, 4, 0, 0, 0, 0, time.UTC),
			[]string{"2026-09-14T02:30:00Z", "2026-09-21T02:30:00Z"},
		},
		{
			contract.ScheduleSpec{Cron: []string{"0 0 * * *"}, Timezone: "Australia/Lord_Howe"},
			time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC),
			[]string{"2026-10-02T13:30:00Z", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z", "2026-10-05T13:00:00Z"},
		},
	} {
		found, err := nextInstants(row.of, row.from, len(row.want))
		require.NoError(t, err)
		var got []string
		for _, at := range found {
			got = append(got, at.Format(time.RFC3339))
		}
		assert.Equal(t, row.want, got)
	}
}

func TestNextInstantsOfIntervals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.Int64Range(1, 400*24*3600).Draw(t, "every")
		offset := rapid.Int64Range(0, every-1).Draw(t, "offset")
		after := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "after"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		found, err := nextInstants(contract.ScheduleSpec{Every: jobtype.Duration(every) * jobtype.Duration(time.Second), Offset: jobtype.Duration(offset) * jobtype.Duration(time.Second)}, after, 3)
		require.NoError(t, err)
		for i, at := range found {
			require.Zero(t, (at.Unix()-offset)%every)
			require.True(t, at.After(after))
			require.False(t, at.After(after.Add(time.Duration(i+1)*time.Duration(every)*time.Second)), "none is left out")
		}
	})
	for name, schedule := range map[string]contract.ScheduleSpec{
		"zone": {Cron: []string{"0 2 * * *"}, Timezone: "Mars/Olympus"}, "days": {Cron: []string{"0 2 * * *"}, Days: []string{"someday"}}, "cron": {Cron: []string{"0 25 * * *"}},
	} {
		_, err := nextInstants(schedule, time.Now(), 3)
		assert.ErrorContains(t, err, name)
		assert.Empty(t, instants(contract.JobTypeSpec{Schedule: schedule}, time.Now()), "a page is shown all the same")
	}
}
