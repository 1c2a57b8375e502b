package jobs

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/jobtype"
)

const outcomeCompleted = "completed"

// Log answers [contract.QueryLog]: the output of an attempt in this process.
func (a *Activities) Log(in contract.LogQueryInput) contract.LogQueryResult {
	chunk, known := a.logs.Read(joblog.Key{Group: in.GroupID, Job: in.JobID, Attempt: in.Attempt}, in.Offset, in.Limit)
	return contract.LogQueryResult{
		ID: a.options.WorkerID, Instance: a.options.Instance, Known: known, Attempt: chunk.Attempt,
		Since: a.began.UTC(), Files: a.options.Outputs != nil,
		Offset: chunk.Offset, Next: chunk.Next, Text: chunk.Text, Running: chunk.Running, StartedAt: chunk.Started.UTC(),
	}
}

// Artifact answers [contract.QueryArtifact]: the artifacts of an attempt, or a part of one.
func (a *Activities) Artifact(in contract.ArtifactQueryInput) contract.ArtifactQueryResult {
	key := joblog.Key{Group: in.GroupID, Job: in.JobID, Attempt: in.Attempt}
	list, attempt := a.logs.Artifacts(key)
	result := contract.ArtifactQueryResult{
		ID: a.options.WorkerID, Instance: a.options.Instance, Attempt: attempt, Files: a.options.Outputs != nil,
	}
	for _, one := range list {
		result.Artifacts = append(result.Artifacts, contract.Artifact{Name: one.Name, Size: one.Size, Error: one.Error})
	}
	if in.Name != "" {
		key.Attempt = attempt
		data, err := a.logs.ReadArtifact(key, in.Name, in.Offset)
		result.Artifacts, result.Known, result.Data = nil, err == nil, data
	}
	return result
}

// PruneLogs deletes outputs on the disk that are too old or too many.
func (a *Activities) PruneLogs(now time.Time) { a.logs.Prune(now) }

func (a *Activities) logEnd(r *attempt, in contract.ExecuteInput, state contract.ExecuteState) {
	level, outcome := slog.LevelInfo, outcomeCompleted
	if state.Failure != "" {
		outcome = string(state.Failure)
		if state.Failure != contract.FailureDeferred && state.Failure != contract.FailureGuard {
			level = slog.LevelWarn
		}
	}
	warning := state.Result.Warning
	if warning != "" {
		level, outcome = slog.LevelWarn, contract.JobWarning
	}
	fields := []any{
		"job", r.key.job, "run", r.key.group, "job_type", in.Job.JobType, "key", in.Job.DedupeKey, "attempt", r.key.attempt,
		"outcome", outcome, "took", time.Since(r.what.StartedAt).Round(time.Millisecond).String(),
	}
	if message := cmp.Or(state.Message, warning); message != "" {
		fields = append(fields, "error", jobtype.OneLine(jobtype.ClipCause(message, jobtype.MaxSummaryBytes), jobtype.MaxSummaryBytes))
	}
	a.options.Logger.Log(r.ctx, level, "job ended", fields...)
}
