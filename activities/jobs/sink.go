package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/batch"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of the keys kept for dropping duplicates, which are never sent.
const (
	// maxSeen is above the keys that a group accepts.
	maxSeen = jobtype.MaxJobsLimit + jobtype.MaxKeyedJobs
	// maxRepeats is the number of consecutive duplicates after which the sink is full: the detector must end.
	maxRepeats = jobtype.MaxKeyedJobs
	// maxKeyedBytes bounds the proposals with keys that go to the group itself: a quarter of its 32 MiB.
	maxKeyedBytes = 8 << 20
)

// maxInvalidMessage bounds one entry of DetectActivityResult.InvalidErrors.
const maxInvalidMessage = 300

// sink checks proposals and sends them in pages, one at a time and in order, so the first of two with one key wins.
// See docs/adr/0005.
type sink struct {
	pages   Pages
	in      contract.DetectActivityInput
	alive   func()
	batchBy *batch.Template

	mu      sync.Mutex
	apart   pageApart
	page    []jobtype.Proposal
	keys    []string
	bytes   int
	full    bool
	seen    map[[16]byte]struct{}
	repeats int
	// keyed counts the proposals with keys that went to the group itself, keyedBytes their bytes.
	keyed, keyedBytes int

	failed error
	result contract.DetectActivityResult
}

func newSink(pages Pages, in contract.DetectActivityInput, alive func()) *sink {
	return &sink{pages: pages, in: in, alive: alive, seen: map[[16]byte]struct{}{}}
}

// Alive implements [jobtype.Alive].
func (s *sink) Alive() { s.alive() }

// Explain implements [jobtype.Explainer].
func (s *sink) Explain(text string) {
	s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := jobtype.OneLine(text, jobtype.MaxExplanationBytes); line != "" && len(s.result.Explanations) < jobtype.MaxExplanations {
		s.result.Explanations = append(s.result.Explanations, line)
	}
}

// Emit implements [jobtype.ProposalSink].
func (s *sink) Emit(ctx context.Context, proposals ...jobtype.Proposal) error {
	s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for _, proposal := range proposals {
		if s.failed != nil {
			return s.failed
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.result.Emitted++
		if s.full {
			s.result.Surplus++
			continue
		}
		size, err := weigh(proposal)
		key := ""
		if err == nil {
			key, err = s.batchOf(proposal)
		}
		if err != nil {
			s.refuse(err)
			faults = append(faults, err)
			continue
		}
		if s.duplicate(proposal.DedupeKey) {
			continue
		}
		s.add(ctx, proposal, key, size+len(key))
	}
	return s.answer(faults)
}

// answer keeps the three answers of Emit distinct for errors.Is and errors.As.
func (s *sink) answer(faults []error) error {
	switch {
	case s.failed != nil:
		return s.failed
	case s.full:
		return errors.Join(append(faults, jobtype.ErrSinkFull)...)
	case len(faults) == 1:
		return faults[0]
	}
	return errors.Join(faults...)
}

func weigh(proposal jobtype.Proposal) (int, error) {
	if err := proposal.Validate(); err != nil {
		return 0, err
	}
	encoded, err := json.Marshal(proposal)
	if err != nil {
		return 0, &jobtype.ProposalError{DedupeKey: proposal.DedupeKey, Reasons: err}
	}
	return len(encoded), nil
}

// A proposal whose template fails is refused: it would share a job with unrelated proposals.
func (s *sink) batchOf(proposal jobtype.Proposal) (string, error) {
	if s.batchBy == nil {
		return "", nil
	}
	key, err := s.batchBy.Key(s.in.Input.Params, proposal)
	if err != nil {
		return "", &jobtype.ProposalError{DedupeKey: proposal.DedupeKey, Reasons: err}
	}
	return key, nil
}

func (s *sink) duplicate(key string) bool {
	if key == "" {
		return false
	}
	digest := sha256.Sum256([]byte(key))
	short := [16]byte(digest[:16])
	if _, seen := s.seen[short]; !seen {
		if s.repeats = 0; len(s.seen) < maxSeen {
			s.seen[short] = struct{}{}
		}
		return false
	}
	s.result.Duplicates++
	s.repeats++
	s.full = s.full || s.repeats >= maxRepeats
	return true
}

func (s *sink) refuse(err error) {
	s.result.Invalid++
	if len(s.result.InvalidErrors) < contract.MaxInvalidErrors {
		s.result.InvalidErrors = append(s.result.InvalidErrors, head(err.Error(), maxInvalidMessage))
	}
}

func (s *sink) add(ctx context.Context, proposal jobtype.Proposal, key string, size int) {
	if s.goesApart(proposal) {
		s.addApart(ctx, proposal, size)
		return
	}
	if len(s.page) > 0 && (len(s.page) == contract.MaxPageProposals || s.bytes+size > contract.MaxPageBytes) {
		s.send(ctx)
	}
	if s.full {
		s.result.Surplus++
		return
	}
	if proposal.DedupeKey != "" {
		s.keyed, s.keyedBytes = s.keyed+1, s.keyedBytes+size
	}
	s.page = append(s.page, proposal)
	if s.batchBy != nil {
		s.keys = append(s.keys, key)
	}
	s.bytes += size
}

func (s *sink) send(ctx context.Context) {
	s.deliver(ctx, contract.DetectPageInput{Proposals: s.page, BatchKeys: s.keys})
	s.page, s.keys, s.bytes = nil, nil, 0
}

// A group that is gone, or refuses the page, fails the detection.
func (s *sink) deliver(ctx context.Context, page contract.DetectPageInput) {
	page.Attempt, page.Seq = s.in.Attempt, s.result.Pages
	updateID := fmt.Sprintf("%s-%d-%d", contract.UpdateDetectPage, page.Attempt, page.Seq)
	if s.in.RunID != "" {
		// The run of a reset group has the update ids of the run before: the server would refuse a page under one of those.
		updateID += "-" + s.in.RunID
	}
	s.repeat(ctx, page.Seq, func(ctx context.Context) error {
		answer, err := s.pages.SendPage(ctx, s.in.WorkflowID, s.in.RunID, updateID, page)
		if err == nil {
			s.full = answer.Full
		}
		return err
	})
	s.result.Pages++
}

func (s *sink) repeat(ctx context.Context, seq int, call func(ctx context.Context) error) {
	for wait := firstDeliveryWait; ; {
		err := timed(ctx, call)
		if err == nil {
			return
		}
		var rejected *RejectedError
		if errors.Is(err, jobtype.ErrLeaseLost) || errors.As(err, &rejected) {
			s.failed = fmt.Errorf("the group does not take page %d: %w", seq, err)
			return
		}
		if !pause(ctx, &wait) {
			s.failed = fmt.Errorf("page %d was not taken in time: %w", seq, errors.Join(context.Cause(ctx), err))
			return
		}
	}
}

func timed(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	return call(ctx)
}

func (s *sink) more() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.More = true
}

func (s *sink) close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && len(s.page)+len(s.apart.list) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.closeApart(ctx)
		if len(s.page) == 0 || s.failed != nil {
			return s.failed
		}
		if s.in.Inline && s.result.Pages == 0 && s.bytes <= contract.MaxInlineBytes {
			s.result.Proposals, s.result.BatchKeys = s.page, s.keys
			return nil
		}
		s.send(ctx)
	}
	return s.failed
}

func (s *sink) summary() contract.DetectActivityResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result
}
