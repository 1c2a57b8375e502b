package jobtypetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/roundsman/roundsman/jobtype"
)

// Sink is a [jobtype.ProposalSink] with a limit; it counts the surplus. It is safe for concurrent use.
type Sink struct {
	limit int

	mu         sync.Mutex
	accepted   []jobtype.Proposal
	seen       map[string]bool
	pages      []int
	duplicates int
	surplus    int
	invalid    []*jobtype.ProposalError
	explained  []string
}

var _ jobtype.ProposalSink = (*Sink)(nil)

// NewSink returns a sink that accepts limit proposals; 0 or less means [jobtype.MaxJobsLimit].
func NewSink(limit int) *Sink {
	if limit <= 0 {
		limit = jobtype.MaxJobsLimit
	}
	return &Sink{limit: limit, seen: map[string]bool{}}
}

// Emit implements [jobtype.ProposalSink]. It joins the faults of one call and ErrSinkFull.
func (s *Sink) Emit(ctx context.Context, proposals ...jobtype.Proposal) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, len(proposals))
	var faults []error
	full := false
	for _, proposal := range proposals {
		err := s.take(proposal)
		if errors.Is(err, jobtype.ErrSinkFull) {
			full = true
		} else if err != nil {
			faults = append(faults, err)
		}
	}
	if full {
		faults = append(faults, jobtype.ErrSinkFull)
	}
	return errors.Join(faults...)
}

// Explain implements [jobtype.Explainer].
func (s *Sink) Explain(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.explained = append(s.explained, text)
}

func (s *Sink) take(proposal jobtype.Proposal) error {
	if err := proposal.Validate(); err != nil {
		if refused, ok := errors.AsType[*jobtype.ProposalError](err); ok {
			s.invalid = append(s.invalid, refused)
		}
		return err
	}
	if proposal.DedupeKey != "" && s.seen[proposal.DedupeKey] {
		s.duplicates++
		return nil
	}
	if len(s.accepted) >= s.limit {
		s.surplus++
		return jobtype.ErrSinkFull
	}
	travelled, err := throughJSON(proposal)
	if err != nil {
		return &jobtype.ProposalError{DedupeKey: proposal.DedupeKey, Reasons: err}
	}
	s.seen[proposal.DedupeKey] = true
	s.accepted = append(s.accepted, travelled)
	return nil
}

func throughJSON[T any](value T) (T, error) {
	var decoded T
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &decoded)
	}
	return decoded, err
}

// Detection returns the detection so far.
func (s *Sink) Detection() Detection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Detection{
		Proposals: slices.Clone(s.accepted), Pages: slices.Clone(s.pages),
		Duplicates: s.duplicates, Surplus: s.surplus, Invalid: slices.Clone(s.invalid),
		Explanations: slices.Clone(s.explained),
	}
}

// Detection is the result of a detection.
type Detection struct {
	// Accepted proposals in order, after a JSON round-trip. Of several with one dedupe key only the first.
	Proposals []jobtype.Proposal
	// Pages holds the number of proposals of every Emit call.
	Pages      []int
	Duplicates int
	Surplus    int
	Invalid    []*jobtype.ProposalError
	// Explanations are the lines of [jobtype.Explain].
	Explanations []string
	// More means that the handler stopped when the sink was full.
	More bool
	// Err is the error of Detect, except ErrSinkFull.
	Err error
}

// Keys returns the dedupe keys of the accepted proposals, in order.
func (d Detection) Keys() []string {
	keys := make([]string, len(d.Proposals))
	for i, proposal := range d.Proposals {
		keys[i] = proposal.DedupeKey
	}
	return keys
}
