package jobtype_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

func fullProposal() jobtype.Proposal {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return jobtype.Proposal{
		DedupeKey: "volume/42", Summary: "vacuum volume 42", Detail: "38 % garbage\non two replicas",
		Priority: jobtype.PriorityHigh, Params: json.RawMessage(`{"volume":42}`),
		Labels: map[string]string{"rack": "r1"}, Node: "node-a", Resources: map[string]int{"disk": 1},
		Exclusive: []string{"volume/42"}, Shared: []string{"rack/r1"}, NotBefore: at, ExpiresAt: at.Add(time.Hour),
		EstimatedRuntime: jobtype.Duration(10 * time.Minute), DAG: "tasks: []",
	}
}

func TestProposalRoundTrip(t *testing.T) {
	t.Parallel()
	want := fullProposal()
	require.NoError(t, want.Validate())
	encoded, err := json.Marshal(want)
	require.NoError(t, err)
	var got jobtype.Proposal
	require.NoError(t, json.Unmarshal(encoded, &got))
	assert.Equal(t, want, got)

	encoded, err = json.Marshal(jobtype.Proposal{})
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(encoded), "every field of a proposal may be left out")
	assert.NoError(t, jobtype.Proposal{}.Validate())
}

func TestProposalFaults(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, p := range map[string]jobtype.Proposal{
		`shared: "" is no name of an object`:        {Shared: []string{""}},
		`object "v/1" is in exclusive and in sha`:   {Exclusive: []string{"v/1"}, Shared: []string{"v/1"}},
		"dedupe_key is not valid UTF-8":             {DedupeKey: "a\xff"},
		"dedupe_key has 513 bytes":                  {DedupeKey: strings.Repeat("k", 513)},
		"summary has 201 bytes":                     {Summary: strings.Repeat("s", 201)},
		"summary must be one line":                  {Summary: "a\nb"},
		"detail is not valid UTF-8":                 {Detail: "\xff"},
		"params is not valid UTF-8":                 {Params: json.RawMessage("{\"a\":\"\xff\"}")},
		"params must be a JSON object":              {Params: json.RawMessage(`[1]`)},
		"labels is not valid UTF-8":                 {Labels: map[string]string{"a": "\xff"}},
		"labels: a label has no name":               {Labels: map[string]string{"": "x"}},
		`priority "urgent" is none of`:              {Priority: "urgent"},
		"node: name \"Node A\" must start with":     {Node: "Node A"},
		"resources: disk must be at least 1, not 0": {Resources: map[string]int{"disk": 0}},
		`resources: "" is no name`:                  {Resources: map[string]int{"": 1}},
		`exclusive: "" is no name`:                  {Exclusive: []string{""}},
		`exclusive: "\xff" is no name`:              {Exclusive: []string{"\xff"}},
		"expires_at is before not_before":           {NotBefore: at, ExpiresAt: at.Add(-time.Second)},
		"estimated_runtime is negative":             {EstimatedRuntime: -1},
		"the limit is 4096: pass a reference":       {Detail: strings.Repeat("d", 4096)},
		"dag has":                                   {DAG: strings.Repeat("d", jobtype.MaxDAGBytes)},
	} {
		err := p.Validate()
		require.ErrorContains(t, err, want)
		var refused *jobtype.ProposalError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, p.DedupeKey, refused.DedupeKey)
	}
}

func TestProposalReportsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	err := jobtype.Proposal{Priority: "urgent", Node: "N", EstimatedRuntime: -1}.Validate()
	for _, want := range []string{"priority", "node", "estimated_runtime"} {
		assert.ErrorContains(t, err, want)
	}
}

func TestProposalLimitCountsTheGraphApart(t *testing.T) {
	t.Parallel()
	graph := strings.Repeat("g", 100<<10)
	assert.NoError(t, jobtype.Proposal{DAG: graph}.Validate())
	assert.ErrorContains(t, jobtype.Proposal{DAG: graph, Detail: strings.Repeat("d", 4096)}.Validate(), "the limit is 4096")
}

func TestRefusedIsNeverValid(t *testing.T) {
	t.Parallel()
	reason := errors.New("line 7 is not JSON")
	err := jobtype.Refused("line 7", reason).Validate()
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, `proposal "line 7" refused: line 7 is not JSON`)
	require.EqualError(t, jobtype.Refused("", nil).Validate(), "proposal refused: the detector gave no reason")
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	ranks := map[jobtype.Priority]int{"low": 0, "": 1, "normal": 1, "high": 2, "critical": 3}
	for priority, rank := range ranks {
		assert.Equal(t, rank, priority.Rank(), priority)
		assert.True(t, priority.Valid(), priority)
	}
	assert.False(t, jobtype.Priority("urgent").Valid())
	assert.Equal(t, 1, jobtype.Priority("urgent").Rank())
}

func TestSizeIsMeasuredEncoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := fullProposal()
		p.DAG = ""
		p.Detail = strings.Repeat(rapid.SampledFrom([]string{"x", "<", "\x00", "ä", "\u2028"}).Draw(t, "text"), rapid.IntRange(0, 4096).Draw(t, "times"))
		encoded, err := json.Marshal(p)
		require.NoError(t, err)
		require.Equal(t, len(encoded) <= jobtype.MaxProposalBytes, p.Validate() == nil, "%d bytes", len(encoded))
	})
}

func TestValidProposalsSurviveTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := jobtype.Proposal{
			DedupeKey: rapid.String().Draw(t, "key"), Summary: rapid.String().Draw(t, "summary"),
			Labels:   rapid.MapOf(rapid.StringN(1, 5, -1), rapid.String()).Draw(t, "labels"),
			Priority: rapid.SampledFrom([]jobtype.Priority{"", "low", "urgent"}).Draw(t, "priority"),
		}
		if want.Validate() != nil {
			t.Skip("not valid")
		}
		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		var got jobtype.Proposal
		require.NoError(t, json.Unmarshal(encoded, &got))
		require.Equal(t, want.DedupeKey, got.DedupeKey)
		require.Equal(t, want.Summary, got.Summary)
		require.Len(t, got.Labels, len(want.Labels))
	})
}
