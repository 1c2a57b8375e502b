package scrub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	pageSize   = 100
	lookupSize = 2048
	// estimatedRate, in bytes per second, is a slow disk. The estimate can only raise a job's time limit.
	estimatedRate = 20 << 20
)

// Detect implements [jobtype.Handler]. During the walk it proposes files that failed their last verification
// (critical), were never verified (high) or have changed since (normal), and then the due files, the longest unverified first.
//
// The next walk begins where one ended, so that each part of a large tree has its turn. A dry run always begins at
// the root and records nothing.
func (h *Handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	p, err := readParams(in.Params)
	if err != nil {
		return jobtype.Permanent(err)
	}
	root, err := p.root()
	if err != nil {
		return err
	}
	store, err := h.store(p)
	if err != nil {
		return err
	}
	s := &scan{params: p, root: root, in: in, store: store, now: h.options.Now(), out: out, softEnd: softEnd(ctx), due: newOldest(in.MaxResults)}
	if s.baseline, err = store.id(ctx); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	if !in.DryRun && !s.stopped {
		err = s.sweep(ctx)
	}
	if err == nil && s.full {
		return jobtype.ErrSinkFull
	}
	return err
}

// softEnd leaves a fifth of the time for the proposals after the walk. Zero means no limit.
func softEnd(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-time.Until(deadline) / 5)
}

type scan struct {
	params   params
	root     string
	in       jobtype.DetectInput
	store    store
	baseline string
	now      time.Time
	softEnd  time.Time
	out      jobtype.ProposalSink

	page    []jobtype.Proposal
	due     *oldest
	visited int    // directories
	stopped bool   // the walk ended early
	full    bool   // the group takes no more
	resume  string // the directory where it ended
}

var errStop = errors.New("the detection has enough")

func (s *scan) run(ctx context.Context) error {
	exclude, err := newExclusion(s.params.Exclude)
	if err != nil {
		return jobtype.Permanent(err)
	}
	from := ""
	if !s.in.DryRun {
		if from, err = s.store.recall(ctx, s.cursorKey()); err != nil {
			return err
		}
	}
	walker := tree{
		root: s.root, exclude: exclude, follow: s.params.FollowSymlinks, oneFilesystem: s.params.OneFilesystem, maxSize: s.params.MaxFileSize,
		visit:  func(directory string, files []found) error { return s.visit(ctx, directory, files) },
		refuse: func(path string, err error) error { return s.refuse(ctx, path, err) },
	}
	err = walker.walk(ctx, from)
	if err == nil {
		err = s.emitDue(ctx)
	}
	if err != nil && !errors.Is(err, errStop) {
		return err
	}
	if s.in.DryRun || s.resume == from {
		return nil
	}
	return s.store.remember(ctx, s.cursorKey(), s.resume)
}

func (s *scan) cursorKey() string { return "cursor/" + s.in.JobType + "/" + s.root }

// visit ignores the time for the first directory of a walk, so that every detection makes progress.
func (s *scan) visit(ctx context.Context, directory string, files []found) error {
	if s.visited > 0 && !s.softEnd.IsZero() && time.Now().After(s.softEnd) {
		if err := s.emitDue(ctx); err != nil && !errors.Is(err, errStop) {
			return err
		}
		return s.stopAt(directory)
	}
	s.visited++
	for len(files) > 0 {
		chunk := files[:min(lookupSize, len(files))]
		files = files[len(chunk):]
		err := s.judge(ctx, chunk)
		if errors.Is(err, errStop) {
			return s.stopAt(directory)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) stopAt(directory string) error {
	s.stopped, s.resume = true, directory
	return errStop
}

func (s *scan) judge(ctx context.Context, files []found) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	paths := lists.Map(files, func(file found) string { return filepath.Join(s.root, filepath.FromSlash(file.path)) })
	records, err := s.store.lookup(ctx, paths...)
	if err != nil {
		return err
	}
	for i, file := range files {
		err = nil
		switch r := records[i]; {
		case r == nil:
			err = s.propose(ctx, file, paths[i], jobtype.PriorityHigh, "never verified")
		case !r.describes(file.identity):
			err = s.propose(ctx, file, paths[i], jobtype.PriorityNormal, "changed since its last verification")
		case !r.RotAt.IsZero():
			err = s.propose(ctx, file, paths[i], jobtype.PriorityCritical, "did not match its baseline on "+r.RotAt.Format(time.DateOnly))
		case s.now.Sub(r.VerifiedAt) >= s.params.reverifyAfter():
			s.due.add(candidate{file, r.VerifiedAt})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) emitDue(ctx context.Context) error {
	for _, c := range s.due.sorted() {
		reason := "last verified " + c.verifiedAt.Format(time.DateOnly)
		if err := s.propose(ctx, c.found, filepath.Join(s.root, filepath.FromSlash(c.path)), jobtype.PriorityNormal, reason); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

func (s *scan) propose(ctx context.Context, file found, path string, priority jobtype.Priority, reason string) error {
	seen := newFileParams(file.path, file.identity)
	seen.DetectedBy, seen.Baseline = s.in.WorkerID, s.baseline
	encoded, err := json.Marshal(map[string]fileParams{"file": seen})
	if err != nil {
		return err
	}
	proposal := jobtype.Proposal{
		DedupeKey: jobtype.KeyOf(path), Priority: priority, Params: encoded,
		Summary:          jobtype.OneLine(fmt.Sprintf("verify %s (%s, %s)", file.path, byteCount(file.Size), reason), jobtype.MaxSummaryBytes),
		EstimatedRuntime: jobtype.Duration(time.Duration(file.Size/estimatedRate) * time.Second),
	}
	if s.params.Pin {
		// The same path on another node is another file.
		proposal.Node, proposal.DedupeKey = s.in.WorkerID, jobtype.KeyOf(s.in.WorkerID+":"+path)
	}
	return s.emit(ctx, proposal)
}

// refuse reports an unreadable path as an invalid proposal. The walk continues.
func (s *scan) refuse(ctx context.Context, path string, err error) error {
	full := filepath.Join(s.root, filepath.FromSlash(path))
	return s.emit(ctx, jobtype.Refused(jobtype.KeyOf(full), fmt.Errorf("cannot be read: %w; exclude it or let the worker read it", err)))
}

func (s *scan) emit(ctx context.Context, proposal jobtype.Proposal) error {
	s.page = append(s.page, proposal)
	if len(s.page) < pageSize {
		return nil
	}
	return s.flush(ctx)
}

func (s *scan) flush(ctx context.Context) error {
	if len(s.page) == 0 {
		return nil
	}
	err := s.out.Emit(ctx, s.page...)
	s.page = s.page[:0]
	if errors.Is(err, jobtype.ErrSinkFull) {
		s.full = true
		return errStop
	}
	if _, refused := errors.AsType[*jobtype.ProposalError](err); refused && ctx.Err() == nil {
		return nil
	}
	return err
}
