package backlog_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/jobtype"
)

func divisible(t *rapid.T) []jobtype.Proposal {
	list := make([]jobtype.Proposal, rapid.SampledFrom([]int{1, 150, 400, 800}).Draw(t, "proposals"))
	nodes, every := rapid.IntRange(1, 50).Draw(t, "nodes"), rapid.IntRange(2, 400).Draw(t, "every")
	detail := strings.Repeat("d", rapid.IntRange(0, 3500).Draw(t, "bytes"))
	for i := range list {
		p := jobtype.Proposal{Summary: fmt.Sprint(i), Detail: detail, Node: fmt.Sprint("node-", i%nodes), DedupeKey: fmt.Sprint("key-", i)}
		switch i % every {
		case 0:
			p.DedupeKey = "key-1"
		case 1:
			p.Exclusive = []string{"disk"}
		case 2:
			p.DedupeKey = ""
		}
		list[i] = p
	}
	return list
}

// TestASubmissionIsDividedWithoutLoss: each proposal is in one part, besides later ones with a key that an earlier one has.
// The order within a class remains.
func TestASubmissionIsDividedWithoutLoss(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := divisible(t)
		d, err := backlog.Divide(contract.JobTypeSpec{}, list)
		if err != nil {
			assert.ErrorContains(t, err, "submit it in parts")
			return
		}
		again, err := backlog.Divide(contract.JobTypeSpec{}, list)
		require.NoError(t, err)
		require.Equal(t, d, again)
		if len(d.Pages)+d.Duplicates == 0 {
			require.Equal(t, list, d.Own)
			return
		}
		require.Len(t, d.Pages, len(d.Lists))
		seen, keys, last, runs := map[string]bool{}, map[string]bool{}, map[string]int{}, 0
		take := func(p jobtype.Proposal) {
			if seen[p.Summary] || keys[p.DedupeKey] {
				t.Fatalf("%s is twice in it", p.Summary)
			}
			seen[p.Summary], keys[p.DedupeKey] = true, p.DedupeKey != ""
		}
		for _, p := range d.Own {
			take(p)
		}
		for i, page := range d.Pages {
			page.Page = "p"
			require.NoError(t, backlog.Check(page))
			require.Len(t, d.Lists[i], page.Count)
			require.LessOrEqual(t, page.Count, contract.MaxPagedProposals)
			require.LessOrEqual(t, page.Bytes, contract.MaxPagedBytes)
			at := 0
			for runs += len(page.Runs); len(page.Runs) > 0; page.Runs = page.Runs[1:] {
				class := page.Classes[page.Runs[0].Class]
				for range page.Runs[0].Count {
					p := d.Lists[i][at]
					number, _ := strconv.Atoi(p.Summary)
					if class.Node != p.Node || class.Keyed != (p.DedupeKey != "") || len(p.Exclusive) > 0 || number < last[class.Key()] {
						t.Fatalf("%s is in the wrong place", p.Summary)
					}
					last[class.Key()] = number
					take(p)
					at++
				}
			}
		}
		require.LessOrEqual(t, runs, len(d.Pages)+2*50, "the descriptions stay small")
		require.Len(t, list, len(seen)+d.Duplicates)
	})
}

// TestASubmissionThatDoesNotFitIsRefused, with the reason.
func TestASubmissionThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	const n = 20_000
	detail := strings.Repeat("d", 100)
	for _, c := range []struct {
		name, want string
		spec       contract.JobTypeSpec
		change     func(i int, p *jobtype.Proposal)
	}{
		{name: "plain"},
		{name: "batches", spec: contract.JobTypeSpec{Batch: &contract.BatchSpec{}}, want: "cannot lie in pages"},
		{name: "a DAG", spec: contract.JobTypeSpec{DAG: &contract.DAGSource{}}, want: "cannot lie in pages"},
		{name: "times", change: func(_ int, p *jobtype.Proposal) { p.ExpiresAt = time.Unix(1, 0) }, want: "cannot lie in pages"},
		{name: "nodes", change: func(i int, p *jobtype.Proposal) { p.Node = fmt.Sprint("node-", i) }, want: "combinations of priority, node and labels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list := make([]jobtype.Proposal, n)
			for i := range list {
				list[i] = jobtype.Proposal{Summary: fmt.Sprint(i), Detail: detail}
				if c.change != nil {
					c.change(i, &list[i])
				}
			}
			_, err := backlog.Divide(c.spec, list)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
