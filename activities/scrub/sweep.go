package scrub

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// sweepSize bounds the records that one detection checks. A large baseline takes many detections.
const sweepSize = 5000

// sweep drops the baselines of files missing for forget_after. At first it only marks them: all files of an unmounted
// disk are missing.
func (s *scan) sweep(ctx context.Context) error {
	key := "sweep/" + s.root
	from, err := s.store.recall(ctx, key)
	if err != nil {
		return err
	}
	prefix := strings.TrimSuffix(s.root, string(os.PathSeparator)) + string(os.PathSeparator)
	records, err := s.store.after(ctx, prefix, from, sweepSize)
	if err != nil {
		return err
	}
	var revisions []revision
	for _, k := range records {
		if ended(ctx) {
			return nil // the detection itself is done; the sweep continues next time
		}
		revised := k.record
		_, err := os.Lstat(k.path)
		gone := errors.Is(err, os.ErrNotExist)
		switch {
		case gone && k.MissingSince.IsZero():
			revised.MissingSince = s.now
			revisions = append(revisions, revision{k, &revised})
		case gone && s.now.Sub(k.MissingSince) >= s.params.forgetAfter():
			revisions = append(revisions, revision{k, nil})
		case err == nil && !k.MissingSince.IsZero():
			revised.MissingSince = time.Time{}
			revisions = append(revisions, revision{k, &revised})
		}
	}
	if err := s.store.revise(ctx, revisions); err != nil {
		return err
	}
	next := ""
	if len(records) == sweepSize {
		next = records[sweepSize-1].path
	}
	if next == from {
		return nil
	}
	return s.store.remember(ctx, key, next)
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }
