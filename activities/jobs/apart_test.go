package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// many has 5,000 proposals without keys; each tenth has one.
func many() (list []jobtype.Proposal) {
	for i := range 5000 {
		p := jobtype.Proposal{Summary: fmt.Sprint(i), Node: fmt.Sprintf("node-%d", i/500), EstimatedRuntime: jobtype.Duration(time.Duration(i) * time.Millisecond)}
		if i%10 == 0 {
			p.DedupeKey = fmt.Sprint("key-", i)
		}
		list = append(list, p)
	}
	return list
}

func emitAll(list []jobtype.Proposal) detector {
	return func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		return out.Emit(ctx, list...)
	}
}

// TestProposalsGoApart: the group gets the first page and all proposals with needs of their own. The
// others are in pages. None is lost or doubled.
func TestProposalsGoApart(t *testing.T) {
	t.Parallel()
	b := emitting(t, emitAll(many()))
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	assert.Equal(t, 5000, result.Emitted)
	found, inline := map[string]bool{}, 0
	note := func(p jobtype.Proposal) {
		assert.False(t, found[p.Summary], p.Summary)
		found[p.Summary] = true
	}
	for seq, page := range b.server.pages {
		assert.Equal(t, seq, page.Seq)
		inline += len(page.Proposals)
		for _, p := range page.Proposals {
			note(p)
		}
		if page.Paged == nil {
			continue
		}
		list, err := pages.OpenProposals(b.server.stored[page.Paged.Page])
		require.NoError(t, err)
		require.Len(t, list, page.Paged.Count)
		at := 0
		for _, r := range page.Paged.Runs {
			for range r.Count {
				assert.Equal(t, page.Paged.Classes[r.Class].Node, list[at].Node)
				assert.LessOrEqual(t, list[at].EstimatedRuntime, page.Paged.Estimate)
				assert.Empty(t, list[at].DedupeKey)
				note(list[at])
				at++
			}
		}
	}
	assert.Equal(t, len(b.server.pages), result.Pages)
	assert.Len(t, found, 5000)
	assert.Less(t, inline, 900)
}

// TestAPageThatCannotBeStored is stored again. After a refusal, or with the end of the detection, the
// detection fails, and the group learns of no page that does not exist.
func TestAPageThatCannotBeStored(t *testing.T) {
	t.Parallel()
	away := func(n int) error {
		if n <= 2 {
			return errAway
		}
		return nil
	}
	refused := func(int) error { return &RejectedError{Err: errors.New("too large")} }
	for name, fails := range map[string]func(int) error{"away": away, "refused": refused} {
		b := emitting(t, emitAll(many()))
		b.server.onPut = fails
		result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
		for _, page := range b.server.pages {
			if page.Paged != nil {
				assert.Contains(t, b.server.stored, page.Paged.Page)
			}
		}
		if name == "away" {
			require.NoError(t, failure)
			assert.Len(t, b.server.stored, 3)
			assert.Equal(t, 5, b.server.puts)
			assert.Equal(t, len(b.server.pages), result.Pages)
			continue
		}
		require.ErrorContains(t, failure, "too large")
		assert.Empty(t, b.server.stored)
		assert.Equal(t, 1, b.server.puts, "a refusal is not repeated")
	}
}

// TestSmallAndDryDetectionsSendAll to their group.
func TestSmallAndDryDetectionsSendAll(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]contract.DetectActivityInput{
		"small": {Attempt: 1}, "inline": {Attempt: 1, Inline: true}, "dry": {Attempt: 1, Input: jobtype.DetectInput{DryRun: true}}, "batched": {Attempt: 1, BatchBy: "{{.Node}}"},
	} {
		list := many()
		if name == "small" {
			list = list[:350]
		}
		b := emitting(t, emitAll(list))
		_, failure := b.detect(t, in)
		require.NoError(t, failure, name)
		assert.Empty(t, b.server.stored, name)
	}
}

// TestAJobReadsItsProposal before its handler begins.
func TestAJobReadsItsProposal(t *testing.T) {
	t.Parallel()
	ref := contract.ProposalRef{Page: "p", Position: 3}
	runs := &pagedRuns{faults: 2, proposal: jobtype.Proposal{Summary: "it", Detail: "all of it", Params: json.RawMessage(`{"a":1}`)}}
	commons := NewCommons(runs)
	in, complete := commons.Take(contract.ExecuteInput{Ref: &ref})
	require.False(t, complete)
	in, err := commons.Fetch(t.Context(), "group/x", in, func() {})
	require.NoError(t, err)
	assert.Nil(t, in.Ref)
	assert.Equal(t, "it", in.Job.Summary)
	assert.JSONEq(t, `{"a":1}`, string(in.ProposalParams))
	assert.Equal(t, 3, runs.calls)

	runs = &pagedRuns{lost: true}
	_, err = NewCommons(runs).Fetch(t.Context(), "group/x", contract.ExecuteInput{Ref: &ref}, func() {})
	require.ErrorIs(t, err, pages.ErrLost)
	assert.Zero(t, runs.calls, "a lost page does not come back")
}

type pagedRuns struct {
	calls, faults int
	lost          bool
	proposal      jobtype.Proposal
}

func (*pagedRuns) Common(context.Context, string, string) (contract.RunCommon, error) {
	return contract.RunCommon{}, errors.New("it has none")
}

func (p *pagedRuns) Proposal(context.Context, string, contract.ProposalRef) (jobtype.Proposal, error) {
	if p.lost {
		return jobtype.Proposal{}, &RejectedError{Err: pages.ErrLost}
	}
	if p.calls++; p.calls <= p.faults {
		return jobtype.Proposal{}, errors.New("the server is away")
	}
	return p.proposal, nil
}

// TestARemoteDetectorsProposalsGoApart, though it sends a few at a time.
func TestARemoteDetectorsProposalsGoApart(t *testing.T) {
	t.Parallel()
	b := emitting(t, nil)
	var sent Sent
	for call := range 10 {
		var list []jobtype.Proposal
		for i := range 50 {
			list = append(list, jobtype.Proposal{Summary: fmt.Sprint(call*50 + i)})
		}
		var err error
		sent, _, err = SendPages(t.Context(), b.server, contract.DetectActivityInput{Attempt: 1}, sent, list)
		require.NoError(t, err)
	}
	inline, apart := 0, 0
	for _, page := range b.server.pages {
		inline += len(page.Proposals)
		if page.Paged != nil {
			apart += page.Paged.Count
		}
	}
	assert.Equal(t, []int{100, 400}, []int{inline, apart})
	assert.Equal(t, 10, sent.Result.Pages)
}

// TestProposalsWithKeysGoApart: the group takes the first 500. Duplicates of the others are found.
func TestProposalsWithKeysGoApart(t *testing.T) {
	t.Parallel()
	var list []jobtype.Proposal
	for i := range 3000 {
		list = append(list, jobtype.Proposal{DedupeKey: fmt.Sprint("key-", i)}, jobtype.Proposal{DedupeKey: fmt.Sprint("key-", i/2)})
	}
	b := emitting(t, emitAll(list))
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1, KeyedInGroup: 500})
	require.NoError(t, failure)
	assert.Equal(t, 3000, result.Duplicates)
	found, inline := map[string]bool{}, 0
	for _, page := range b.server.pages {
		inline += len(page.Proposals)
		proposals := page.Proposals
		if page.Paged != nil {
			var err error
			proposals, err = pages.OpenProposals(b.server.stored[page.Paged.Page])
			require.NoError(t, err)
			assert.Equal(t, []contract.JobClass{{Keyed: true}}, page.Paged.Classes)
		}
		for _, p := range proposals {
			assert.False(t, found[p.DedupeKey], p.DedupeKey)
			found[p.DedupeKey] = true
		}
	}
	assert.Len(t, found, 3000)
	assert.Equal(t, 500, inline)
}

// TestLargeProposalsWithKeysGoApart: the group takes 8 MiB of them, so there is room for others in its 32 MiB.
func TestLargeProposalsWithKeysGoApart(t *testing.T) {
	t.Parallel()
	params := json.RawMessage(`{"x":"` + strings.Repeat("x", 4_000) + `"}`)
	var list []jobtype.Proposal
	for i := range 5000 {
		list = append(list, jobtype.Proposal{DedupeKey: fmt.Sprint("key-", i), Params: params})
	}
	b := emitting(t, emitAll(list))
	_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1, KeyedInGroup: 20_000})
	require.NoError(t, failure)
	inline, apart := 0, 0
	for _, page := range b.server.pages {
		if inline += len(page.Proposals); page.Paged != nil {
			apart += page.Paged.Count
		}
	}
	assert.Equal(t, 5000, inline+apart)
	assert.Less(t, inline*len(params), 9<<20)
}
