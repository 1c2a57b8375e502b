package jobtypetest_test

// The code between begin and end is the smallest handler of docs/handlers.md, word for word. Newcomers
// copy it, so it must compile and conform.

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// begin
type oldCores struct{}

// params are the job type's `params:`; in a job they are overlaid by its proposal's.
type params struct {
	Dir  string `json:"dir"`
	File string `json:"file"`
}

func (oldCores) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{
		Name: "oldcores", Help: "Removes core dumps.",
		Params: json.RawMessage(`{"type": "object", "required": ["dir"],
			"properties": {"dir": {"type": "string"}, "file": {"type": "string"}}}`),
	}
}

func (oldCores) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var p params
	if err := json.Unmarshal(in.Params, &p); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(p.Dir, "*.core"))
	if err != nil {
		return err
	}
	for _, file := range found {
		about, err := json.Marshal(map[string]string{"file": file})
		if err != nil {
			return err
		}
		err = out.Emit(ctx, jobtype.Proposal{DedupeKey: jobtype.KeyOf(file), Summary: jobtype.OneLine("remove "+file, jobtype.MaxSummaryBytes), Params: about})
		switch refused := (*jobtype.ProposalError)(nil); {
		case errors.Is(err, jobtype.ErrSinkFull):
			return jobtype.ErrSinkFull
		case errors.As(err, &refused):
			continue // It is counted, and shown with its reason.
		case err != nil:
			return err
		}
	}
	return nil
}

func (oldCores) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var p params
	if err := json.Unmarshal(job.Params, &p); err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	if err := context.Cause(ctx); err != nil {
		return jobtype.Result{}, err
	}
	progress.Report(0, "removing", p.File)
	if err := os.Remove(p.File); err != nil && !errors.Is(err, fs.ErrNotExist) { // Gone: another attempt has done it.
		return jobtype.Result{}, err
	}
	return jobtype.Result{Summary: "removed " + p.File}, nil
}

// end

// TestTheDocumentedHandlerConforms runs it, and finds it in the document.
func TestTheDocumentedHandlerConforms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.core"), []byte("x"), 0o600))
	where, err := json.Marshal(map[string]string{"dir": dir})
	require.NoError(t, err)
	jobtypetest.Check(t, oldCores{}, jobtypetest.Case{Input: jobtype.DetectInput{Params: where}})

	source, err := os.ReadFile("document_test.go")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(source), "\n// begin\n")
	code, _, _ := strings.Cut(rest, "\n// end\n")
	document, err := os.ReadFile("../../docs/handlers.md")
	require.NoError(t, err)
	assert.Contains(t, string(document), strings.TrimSpace(code), "docs/handlers.md shows it as it is here")
}
