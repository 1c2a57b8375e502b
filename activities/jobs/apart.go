package jobs

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// pageApart collects plain proposals for a page. The group gets the page's name and the classes of its jobs.
type pageApart struct {
	list  []jobtype.Proposal
	bytes int
	sent  bool
}

// goesApart reports whether a proposal goes to a page. The first page of a detection, and proposals with keys up to
// maxKeyedBytes, go to the group itself.
func (s *sink) goesApart(p jobtype.Proposal) bool {
	if s.result.Pages == 0 || s.in.Inline || s.batchBy != nil || s.in.Input.DryRun {
		return false
	}
	if p.DedupeKey != "" && (s.in.KeyedInGroup == 0 || s.keyed < s.in.KeyedInGroup && s.keyedBytes < maxKeyedBytes) {
		return false
	}
	return backlog.Plain(p)
}

func (s *sink) addApart(ctx context.Context, proposal jobtype.Proposal, size int) {
	if n := len(s.apart.list); n > 0 && (n == contract.MaxPagedProposals || s.apart.bytes+size > contract.MaxPagedBytes) {
		s.sendApart(ctx)
	}
	if s.full || s.failed != nil {
		s.result.Surplus++
		return
	}
	s.apart.list, s.apart.bytes = append(s.apart.list, proposal), s.apart.bytes+size
}

func (s *sink) sendApart(ctx context.Context) {
	list := s.apart.list
	page := backlog.Describe(list)
	page.Bytes = s.apart.bytes
	s.apart = pageApart{sent: true}
	data, err := pages.PackProposals(list)
	if err != nil {
		s.failed = err
		return
	}
	s.repeat(ctx, s.result.Pages, func(ctx context.Context) (err error) {
		page.Page, err = s.pages.PutPage(ctx, s.in.WorkflowID, data)
		return err
	})
	if s.failed == nil {
		s.deliver(ctx, contract.DetectPageInput{Paged: &page})
	}
}

// closeApart sends the rest. A few proposals that no page precedes go to the group itself.
func (s *sink) closeApart(ctx context.Context) {
	list, size := s.apart.list, s.apart.bytes
	if len(list) == 0 {
		return
	}
	if !s.apart.sent && len(s.page)+len(list) <= contract.MaxPageProposals && s.bytes+size <= contract.MaxPageBytes {
		s.page, s.bytes, s.apart = append(s.page, list...), s.bytes+size, pageApart{}
		return
	}
	s.sendApart(ctx)
}
