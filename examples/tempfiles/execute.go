package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/roundsman/roundsman/jobtype"
)

// Execute cleans one directory. It looks again before it removes, because a file may have been touched since
// the detection. A second attempt removes the rest.
func (h *handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	p, err := readParams(job.Params)
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	if p.Subdir == "" {
		return jobtype.Result{}, jobtype.Permanent(errors.New("params.subdir is missing: jobs are made by the detection"))
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return jobtype.Result{}, fmt.Errorf("directory to clean: %w", err)
	}
	defer root.Close()

	names, size, err := h.old(root, p.Subdir, p)
	if errors.Is(err, fs.ErrNotExist) {
		return jobtype.Result{Summary: "the directory is gone"}, nil
	}
	if err != nil {
		return jobtype.Result{}, fmt.Errorf("look for old files: %w", err)
	}
	for i, name := range names {
		// Canceled, over its time, or the worker drains. The cause has the reason.
		if ctx.Err() != nil {
			return jobtype.Result{}, context.Cause(ctx)
		}
		progress.Report(100*float64(i)/float64(len(names)), "remove", name)
		// os.Root refuses to leave the directory, even if a part of the path was replaced meanwhile.
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return jobtype.Result{}, fmt.Errorf("remove a temporary file: %w", err)
		}
	}
	progress.Report(100, "done", "")
	return jobtype.Result{
		Summary: fmt.Sprintf("removed %d files, %d bytes", len(names), size),
		Data:    map[string]any{"files": len(names), "bytes": size},
	}, nil
}
