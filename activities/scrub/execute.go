package scrub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// maxReads bounds the reads of a file that changes meanwhile.
const maxReads = 3

// settleFor is the wait after the last write: a write in the same kernel tick (at most 10 ms) would not change the
// modification time.
const settleFor = 50 * time.Millisecond

// Values of the result's "outcome".
const (
	outcomeVerified = "verified" // matches its baseline
	outcomeBaseline = "baseline" // first digest of this file
	outcomeChanged  = "changed"  // written since: a new baseline
	outcomeVanished = "vanished" // gone, or no regular file any more
	outcomeBusy     = "busy"     // written while it was read, maxReads times
)

// Execute implements [jobtype.Handler]. Rot is a permanent failure. A file that vanished or is being written is none.
func (h *Handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	p, err := readParams(job.Params)
	if err == nil && p.File == nil {
		err = errors.New("params.file is missing: scrub jobs are made by the detection")
	}
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	relative, err := p.File.relative()
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	root, err := p.root()
	if err != nil {
		return jobtype.Result{}, err
	}
	store, err := h.store(p)
	if err != nil {
		return jobtype.Result{}, err
	}
	v := &verification{
		params: p, job: job, progress: progress, store: store, now: h.options.Now, checkpointBytes: h.options.CheckpointBytes,
		root: root, relative: relative, path: filepath.Join(root, relative), resume: readCheckpoint(job.Checkpoint),
	}
	return v.run(ctx)
}

type verification struct {
	params          params
	job             jobtype.Job
	progress        jobtype.Progress
	store           store
	now             func() time.Time
	checkpointBytes int64
	root, relative  string
	path            string
	resume          *checkpoint
}

func (v *verification) run(ctx context.Context) (jobtype.Result, error) {
	v.progress.Alive()
	if err := v.elsewhere(ctx); err != nil {
		return jobtype.Result{}, err
	}
	for range maxReads {
		read, err := v.read(ctx)
		if gone(err) {
			return v.result(outcomeVanished, "is gone or no regular file any more", nil), nil
		}
		if errors.Is(err, errChanging) {
			v.resume = nil
			continue
		}
		if err != nil {
			return jobtype.Result{}, v.failure(ctx, err)
		}
		return v.compare(ctx, read)
	}
	return v.result(outcomeBusy, fmt.Sprintf("was written to while it was read, %d times; the next detection tries again", maxReads), nil), nil
}

// Without `pin`, a job may run on a worker with other disks.
func (v *verification) elsewhere(ctx context.Context) error {
	seen := v.params.File
	if seen.DetectedBy == "" || seen.DetectedBy == v.job.WorkerID {
		return nil
	}
	id, err := v.store.id(ctx)
	if err != nil || id == seen.Baseline {
		return err
	}
	info, err := os.Stat(v.path)
	if err == nil && info.Size() == seen.Size && info.ModTime().UnixNano() == seen.MtimeNS {
		return nil // the same file, seen through a shared file system
	}
	return jobtype.Permanent(fmt.Errorf("%q as %s detected it is not on %s: the workers do not share a disk; set `pin: true` in the params, so that files are verified where they are", v.path, seen.DetectedBy, v.job.WorkerID))
}

func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, errNotRegular)
}

// A missing permission is permanent.
func (v *verification) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("verification of %q stopped: %w", v.path, context.Cause(ctx))
	}
	err = fmt.Errorf("%q cannot be verified: %w", v.path, err)
	if errors.Is(err, os.ErrPermission) {
		return jobtype.Permanent(err)
	}
	return err
}

func (v *verification) compare(ctx context.Context, read reading) (jobtype.Result, error) {
	records, err := v.store.lookup(ctx, v.path)
	if err != nil {
		return jobtype.Result{}, err
	}
	now, before := v.now(), records[0]
	after := record{Digest: read.digest, Size: read.Size, MtimeNS: read.MtimeNS, RecordedAt: now, VerifiedAt: now}
	outcome, text := outcomeBaseline, "has its first baseline"
	var rot error
	switch {
	case before == nil:
	case !before.describes(read.identity):
		outcome, text = outcomeChanged, "was written to since its last verification and has a new baseline"
	case before.Digest == read.digest:
		outcome, text, after.RecordedAt = outcomeVerified, "matches its baseline of "+before.RecordedAt.Format(time.DateOnly), before.RecordedAt
	default:
		after = *before
		after.RotAt, after.MissingSince = now, time.Time{}
		rot = v.rotten(*before, read)
	}
	err = v.store.put(ctx, v.path, after)
	switch {
	case rot != nil && err != nil:
		return jobtype.Result{}, jobtype.Permanent(fmt.Errorf("%w (not kept: %w)", rot, err)) // A retry may not find it again.
	case rot != nil:
		return jobtype.Result{}, jobtype.Permanent(rot)
	case err != nil:
		return jobtype.Result{}, fmt.Errorf("the verdict on %q could not be kept: %w", v.path, err)
	}
	return v.result(outcome, text, &read), nil
}

func (v *verification) rotten(before record, read reading) error {
	return fmt.Errorf("bit rot in %q: size (%d bytes) and modification time (%s) are unchanged, but its SHA-256 is %s and the baseline of %s says %s; restore it from a copy, or touch it to accept the content as it is",
		v.path, read.Size, read.mtime().UTC().Format(time.RFC3339Nano), read.digest, before.RecordedAt.UTC().Format(time.RFC3339), before.Digest)
}

func (v *verification) result(outcome, text string, read *reading) jobtype.Result {
	shown := jobtype.KeyOf(v.path)
	data := map[string]any{"outcome": outcome, "path": shown}
	if read != nil {
		data["sha256"], data["bytes"] = read.digest.String(), read.Size
		text = fmt.Sprintf("%s (%s)", text, byteCount(read.Size))
	}
	return jobtype.Result{Summary: jobtype.OneLine(filepath.Base(v.path)+" "+text, jobtype.MaxSummaryBytes), Data: data}
}

func byteCount(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), -1
	for value >= 1<<10 && unit < 5 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit])
}
