package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Detect proposes one job per directory that holds old temporary files. It changes nothing, so that `start
// --dry-run` can list the jobs.
func (h *handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	p, err := readParams(in.Params)
	if err != nil {
		return jobtype.Permanent(err)
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return fmt.Errorf("directory to clean: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			// Shown to operators as an invalid proposal; the others continue.
			refused := out.Emit(ctx, jobtype.Refused(name, err))
			if errors.Is(refused, jobtype.ErrSinkFull) {
				return refused
			}
			return nil
		}
		if !entry.IsDir() {
			return nil
		}
		return h.propose(ctx, root, name, p, in, out)
	})
}

func (h *handler) propose(ctx context.Context, root *os.Root, subdir string, p params, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	found, size, err := h.old(root, subdir, p)
	if err != nil || len(found) == 0 {
		return err
	}
	encoded, err := json.Marshal(map[string]string{"subdir": subdir})
	if err != nil {
		return err
	}
	full := path.Join(p.Dir, subdir)
	return out.Emit(ctx, jobtype.Proposal{
		// The same directory is never cleaned by two jobs at once.
		DedupeKey: jobtype.KeyOf(in.WorkerID + ":" + full),
		Summary:   jobtype.OneLine(fmt.Sprintf("remove %d files (%d bytes) from %s", len(found), size, full), jobtype.MaxSummaryBytes),
		Params:    encoded,
		// The files are on the disk of the node that found them.
		Node: in.WorkerID,
	})
}

// old lists the temporary files of one directory that are old enough.
func (h *handler) old(root *os.Root, subdir string, p params) (names []string, size int64, err error) {
	entries, err := fs.ReadDir(root.FS(), subdir)
	if err != nil {
		return nil, 0, err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !matches(p.Patterns, entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		if age := h.now().Sub(info.ModTime()); age >= time.Duration(p.OlderThan) {
			names, size = append(names, path.Join(subdir, entry.Name())), size+info.Size()
		}
	}
	return names, size, nil
}

func matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
