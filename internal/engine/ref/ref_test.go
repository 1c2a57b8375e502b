package ref_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/engine/ref"
)

// TestForms holds every form of docs/cli.md.
func TestForms(t *testing.T) {
	t.Parallel()
	const tick = "group/scrub-2026-11-20T09:00:00Z"
	for text, want := range map[string]ref.Ref{
		"scrub":                          {Name: "scrub"},
		"node-a":                         {Name: "node-a"},
		"scrub@":                         {Name: "scrub", AtRun: true},
		"scrub@open":                     {Name: "scrub", AtRun: true, ID: ref.Open},
		"scrub@last":                     {Name: "scrub", AtRun: true, ID: ref.Last},
		"scrub@bad":                      {Name: "scrub", AtRun: true, ID: ref.Bad},
		"scrub@1120T0900Z":               {Name: "scrub", AtRun: true, ID: "1120T0900Z"},
		"scrub@2026-11-20T09:00:00Z":     {Name: "scrub", AtRun: true, ID: "2026-11-20T09:00:00Z"},
		"scrub@2026-11-20T09:00:00Z/7":   {Name: "scrub", AtRun: true, ID: "2026-11-20T09:00:00Z", Item: "7"},
		"scrub@2026-11-20T09:00:00Z:a:b": {Name: "scrub", AtRun: true, ID: "2026-11-20T09:00:00Z", HasKey: true, Key: "a:b"},
		"nightly@december":               {Name: "nightly", AtRun: true, ID: "december"},
		"scrub/12":                       {Name: "scrub", Item: "12"},
		"nightly@last/load.n7":           {Name: "nightly", AtRun: true, ID: ref.Last, Item: "load.n7"},
		"nightly/sub/load":               {Name: "nightly", Item: "sub/load"},
		"scrub:/srv/a.bin":               {Name: "scrub", HasKey: true, Key: "/srv/a.bin"},
		"scrub@x:/srv/a@b":               {Name: "scrub", AtRun: true, ID: "x", HasKey: true, Key: "/srv/a@b"},
		":volume-42":                     {HasKey: true, Key: "volume-42"},
		"dag:nightly:load":               {Name: "dag:nightly", HasKey: true, Key: "load"},
		"dag:nightly:load.a:b":           {Name: "dag:nightly", HasKey: true, Key: "load.a:b"},
		"dag:x":                          {Name: "dag", HasKey: true, Key: "x"},
		"worker/node-a":                  {Kind: ref.Worker, Name: "node-a"},
		"worker/":                        {Kind: ref.Worker},
		"object/volume/42":               {Kind: ref.Object, Name: "volume/42"},
		"dag/nightly":                    {Kind: ref.DAG, Name: "nightly"},
		tick:                             {Workflow: tick},
		"scrub-2026-11-20T09:00:00Z":     {Workflow: tick},
		"scrub-2026-11-20T09:00:00Z/12":  {Workflow: tick, Item: "12"},
		tick + "/job-00001/gate":         {Workflow: tick, Item: "job-00001/gate"},
		"tidy-adhoc-ticket-1":            {Workflow: "group/tidy-adhoc-ticket-1"},
		"dag/nightly/x":                  {Workflow: "dag/nightly/x"},
		"dag/nightly/x/sub/load":         {Workflow: "dag/nightly/x", Item: "sub/load"},
	} {
		got, err := ref.Parse(text)
		require.NoError(t, err, text)
		want.Text = text
		assert.Equal(t, want, got, text)
	}
	for _, wrong := range []string{"", "  ", "/", "@", "@last", ":", "scrub:", "scrub/", "group/job-00012", "Scrub", "a b", "日本"} {
		_, err := ref.Parse(wrong)
		require.Error(t, err, wrong)
	}
}

// TestNumbersAreJobs: in a group alone.
func TestNumbersAreJobs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "job-00012", ref.ItemID("12", true))
	assert.Equal(t, "job-00001/gate", ref.ItemID("1/gate", true))
	assert.Equal(t, "job-123456", ref.ItemID("123456", true))
	assert.Equal(t, "12", ref.ItemID("12", false))
	assert.Equal(t, "job-00007", ref.ItemID("job-00007", true))
	assert.Equal(t, "job-12345/gate", ref.ItemID("job-00012345/gate", true))
	assert.Equal(t, "job-00012345", ref.ItemID("job-00012345", false))
}

// TestTimes: a short time is in the year before now.
func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 3, 8, 0, 0, 0, time.UTC)
	assert.Equal(t, []time.Time{time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}, ref.Times("1120T0900Z", now))
	assert.Equal(t, time.Date(2027, 1, 2, 9, 0, 5, 0, time.UTC), ref.Times("0102T090005Z", now)[0])
	assert.Equal(t, []time.Time{time.Date(2020, 2, 29, 9, 0, 0, 0, time.UTC)}, ref.Times("2020-02-29T09:00:00Z", now))
	assert.Empty(t, ref.Times("december", now))
	for _, id := range []string{"", "open", "last", "bad", "1120T0900Z", "2026-11-20T09:00:00Z"} {
		assert.True(t, ref.Reserved(id), id)
	}
	assert.False(t, ref.Reserved("ticket-47"))
}

// TestWrittenRefsAreRead: each reference that is written reads as the same run and item.
func TestWrittenRefsAreRead(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"group/scrub-2026-11-20T09:00:00Z":           "scrub@1120T0900Z",
		"group/scrub-2026-11-20T09:00:07Z":           "scrub@1120T090007Z",
		"group/scrub-2026-11-20T09:00:00Z/job-00001": "group/scrub-2026-11-20T09:00:00Z/job-00001",
		"group/tidy-adhoc-ticket-1":                  "tidy@ticket-1",
		"group/tidy-adhoc-open":                      "group/tidy-adhoc-open",
		"group/tidy":                                 "group/tidy",
		"dag/nightly/december":                       "nightly@december",
		"dag/nightly/last":                           "dag/nightly/last",
	} {
		assert.Equal(t, want, ref.OfRun(id), id)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z0-9/@:. -]{0,24}`).Draw(t, "text")
		parsed, err := ref.Parse(text)
		if err != nil {
			return
		}
		again, err := ref.Parse(parsed.Text)
		if err != nil || again != parsed {
			t.Fatalf("%q reads as %+v, then as %+v (%v)", text, parsed, again, err)
		}
	})
}
