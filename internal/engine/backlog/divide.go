package backlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The input of a group has at most 2 MiB.
const maxTable = 512 << 10

// Plain reports whether class and estimate of a proposal are enough for its group.
func Plain(p jobtype.Proposal) bool {
	return p.DAG == "" && len(p.Resources)+len(p.Exclusive)+len(p.Shared) == 0 && p.NotBefore.IsZero() && p.ExpiresAt.IsZero()
}

// Describe sorts the proposals of a page into classes.
func Describe(list []jobtype.Proposal) contract.ProposalPage {
	page, known := contract.ProposalPage{Count: len(list)}, map[string]int{}
	for i := range list {
		p := &list[i]
		page.Estimate = max(page.Estimate, p.EstimatedRuntime)
		class := classOf(p)
		key := class.Key()
		at, found := known[key]
		if !found {
			at = len(page.Classes)
			known[key], page.Classes = at, append(page.Classes, class)
		}
		if n := len(page.Runs); n > 0 && page.Runs[n-1].Class == at {
			page.Runs[n-1].Count++
			continue
		}
		page.Runs = append(page.Runs, contract.ClassRun{Class: at, Count: 1})
	}
	return page
}

func classOf(p *jobtype.Proposal) contract.JobClass {
	return contract.JobClass{Priority: p.Priority, Node: p.Node, Labels: p.Labels, Keyed: p.DedupeKey != ""}
}

// Share is the part of a submission that its group has from the beginning, as after a detection.
type Share struct{ jobs, bytes int }

// Add adds a proposal, unless it lies in a page.
func (s *Share) Add(spec contract.JobTypeSpec, p jobtype.Proposal, size int) bool {
	first := s.jobs < contract.MaxPageProposals && s.bytes+size <= contract.MaxPageBytes
	if !first && submittable(spec, p) {
		return false
	}
	s.jobs, s.bytes = s.jobs+1, s.bytes+size
	return true
}

// Full reports whether the share exceeds the input of a group.
func (s *Share) Full() bool { return s.bytes > contract.MaxSubmissionBytes }

func submittable(spec contract.JobTypeSpec, p jobtype.Proposal) bool {
	perKey := spec.RetryBudget != nil && spec.RetryBudget.PerKey != nil
	return spec.Batch == nil && spec.DAG == nil && !(perKey && p.DedupeKey != "") && Plain(p)
}

// Divided is a submission in parts. Own goes to the group itself, Lists to pages.
type Divided struct {
	Own   []jobtype.Proposal
	Lists [][]jobtype.Proposal
	// Pages describe Lists, without the names of the pages.
	Pages      []contract.ProposalPage
	Duplicates int
}

// Divide divides a submission above 1 MiB. Proposals are ordered by class: the descriptions of all pages travel in
// the input of the group.
func Divide(spec contract.JobTypeSpec, list []jobtype.Proposal) (Divided, error) {
	sizes, total := make([]int, len(list)), 0
	for i := range list {
		encoded, err := json.Marshal(list[i])
		if err != nil {
			return Divided{}, fmt.Errorf("proposal %d: %w", i+1, err)
		}
		sizes[i] = len(encoded) + len(",")
		total += sizes[i]
	}
	if total <= contract.MaxSubmissionBytes {
		return Divided{Own: list}, nil
	}
	d, share, seen, apart := Divided{}, Share{}, map[string]bool{}, []int{}
	for i, p := range list {
		switch {
		case seen[p.DedupeKey]:
			d.Duplicates++
			continue
		case p.DedupeKey != "":
			seen[p.DedupeKey] = true
		}
		if share.Add(spec, p, sizes[i]) {
			d.Own = append(d.Own, p)
		} else {
			apart = append(apart, i)
		}
	}
	d.paginate(list, sizes, apart)
	return d, d.check(share)
}

func (d *Divided) paginate(list []jobtype.Proposal, sizes, chosen []int) {
	keys := make(map[int]string, len(chosen))
	for _, i := range chosen {
		keys[i] = classOf(&list[i]).Key()
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	var page []jobtype.Proposal
	bytes := 0
	for at, i := range chosen {
		page, bytes = append(page, list[i]), bytes+sizes[i]
		if next := at + 1; next < len(chosen) && len(page) < contract.MaxPagedProposals && bytes+sizes[chosen[next]] <= contract.MaxPagedBytes {
			continue
		}
		described := Describe(page)
		described.Bytes = bytes
		d.Pages, d.Lists, page, bytes = append(d.Pages, described), append(d.Lists, page), nil, 0
	}
}

func (d *Divided) check(share Share) error {
	classes := map[string]bool{}
	for _, page := range d.Pages {
		for _, class := range page.Classes {
			classes[class.Key()] = true
		}
	}
	table, err := json.Marshal(d.Pages)
	switch {
	case err != nil:
		return fmt.Errorf("encode the pages: %w", err)
	case share.Full():
		return fmt.Errorf("its proposals that cannot lie in pages have %d bytes as JSON, the limit is %d: submit it in parts", share.bytes, contract.MaxSubmissionBytes)
	case len(d.Pages) > MaxPages:
		return fmt.Errorf("its proposals need %d pages, the limit is %d: submit it in parts", len(d.Pages), MaxPages)
	case len(classes) > MaxQueues || len(table) > maxTable:
		return fmt.Errorf("its proposals have %d combinations of priority, node and labels, too many for one run: submit it in parts", len(classes))
	}
	return nil
}
