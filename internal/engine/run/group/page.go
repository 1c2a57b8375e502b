package group

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/jobtype"
)

// Page is one page of proposals.
type Page struct {
	Attempt, Seq int
	Proposals    []jobtype.Proposal
	// BatchKeys name the batch of each proposal, empty where it has none; nil: no
	// proposal has one.
	BatchKeys []string
	// Paged describes proposals that are stored apart; nil: there are none.
	Paged *contract.ProposalPage
}

// PageAnswer is the result of a page.
type PageAnswer struct {
	Accepted   int  `json:"accepted"`
	Duplicates int  `json:"duplicates"`
	Surplus    int  `json:"surplus"`
	Full       bool `json:"full"`
}

// CheckPage returns the reason to refuse a page, or nil. It refuses a page of an older detection, a page that skips a
// number, and a page without a running detection.
func (g *search) CheckPage(page Page) error {
	switch {
	case g.phase != PhaseDetecting && !g.begun || !g.detect.running():
		return fmt.Errorf("page %d of detection %d: the group is not detecting (it is %s); drop the detection", page.Seq, page.Attempt, g.phase)
	case g.detect.session(page.Attempt) == nil:
		return fmt.Errorf("page %d of detection %d: detection %d is the current one; drop the old one", page.Seq, page.Attempt, g.detect.Attempt)
	case len(page.BatchKeys) != 0 && len(page.BatchKeys) != len(page.Proposals):
		return fmt.Errorf("page %d of detection %d: it has %d batch keys for %d proposals; this is a bug, please report it", page.Seq, page.Attempt, len(page.BatchKeys), len(page.Proposals))
	case page.Seq < 0 || page.Seq > len(g.detect.session(page.Attempt).Answers):
		return fmt.Errorf("page %d of detection %d: page %d is the next one; send the pages in order", page.Seq, page.Attempt, len(g.detect.session(page.Attempt).Answers))
	case page.Paged != nil:
		return g.checkPaged(page)
	}
	return nil
}

// TakePage takes a page that CheckPage let pass. A page that comes again is
// answered as it was the first time and changes nothing.
func (g *search) TakePage(now time.Time, page Page) PageAnswer {
	g.detect.pages++
	return g.takePage(g.detect.session(page.Attempt), page, now)
}

func (g *search) takePage(s *session, page Page, now time.Time) PageAnswer {
	if page.Seq < len(s.Answers) {
		return s.Answers[page.Seq]
	}
	var answer PageAnswer
	for i := range page.Proposals {
		p := page.Proposals[i]
		if g.cfg.DetectEvery {
			p = pinned(p, s.Worker)
		}
		g.takeProposal(s, p, keyAt(page.BatchKeys, i), &answer, now)
	}
	if page.Paged != nil {
		g.takePaged(s, *page.Paged, &answer, now)
	}
	answer.Full = answer.Full || g.full() || g.detect.pages >= maxUpdates
	s.Answers = append(s.Answers, answer)
	return answer
}

func (g *work) full() bool {
	js := &g.jobs
	return js.Left() >= g.cfg.Policy.MaxJobsPerDetection || js.Open.Len() >= jobtype.MaxKeyedJobs || js.Bytes >= MaxGroupBytes
}

func keyAt(keys []string, i int) string {
	if i < len(keys) {
		return keys[i]
	}
	return ""
}

// takeProposal makes a job of a proposal, if the group takes it. s found it; nil: it
// was not detected.
func (g *search) takeProposal(s *session, p jobtype.Proposal, batchKey string, answer *PageAnswer, now time.Time) {
	if s == nil {
		s = &session{}
	}
	if err := p.Validate(); err != nil {
		g.tally.Find(&s.Tally, tally.Found{Invalid: 1})
		g.detect.invalid(err.Error())
		return
	}
	p.Resources = proposed.Largest(p.Resources, g.cfg.Resources)
	js := &g.jobs
	if p.DedupeKey != "" {
		if _, seen := js.Seen[p.DedupeKey]; seen {
			answer.Duplicates++
			g.tally.Find(&s.Tally, tally.Found{Duplicates: 1})
			return
		}
	}
	size := proposed.Bytes(p) + len(batchKey)
	if g.full() || js.Bytes+size > MaxGroupBytes {
		answer.Surplus++
		g.tally.Find(&s.Tally, tally.Found{Surplus: 1})
		return
	}
	answer.Accepted++
	g.tally.Find(&s.Tally, tally.Found{Accepted: 1})
	js.Bytes += size
	g.engine.Changed(now)
	j := js.Add(p, batchKey, now)
	j.From, j.Late = s.Attempt, g.begun
	if p.DedupeKey != "" {
		js.Seen[p.DedupeKey] = struct{}{}
	}
}
