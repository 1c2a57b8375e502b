package command

import (
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// environment is what a program sees: the worker's own environment without
// the worker's credentials and identity, then Roundsman's variables, then
// those of the configuration, later ones winning.
func (h *Handler) environment(own, configured []string) []string {
	env := make([]string, 0, len(own)+len(configured)+32)
	for _, variable := range h.options.Environ() {
		if !strings.HasPrefix(variable, "TEMPORAL_") && !strings.HasPrefix(variable, "ROUNDSMAN_") {
			env = append(env, variable)
		}
	}
	return append(append(env, own...), configured...)
}

func jobEnvironment(job jobtype.Job) []string {
	return []string{
		"ROUNDSMAN_BATCH_SIZE=" + strconv.Itoa(len(job.Items())),
		"ROUNDSMAN_WORKER_ID=" + job.WorkerID,
		"ROUNDSMAN_JOB_TYPE=" + job.JobType,
		"ROUNDSMAN_GROUP_ID=" + job.GroupID,
		"ROUNDSMAN_JOB_ID=" + job.ID,
		"ROUNDSMAN_DEDUPE_KEY=" + withoutNUL(job.DedupeKey),
		"ROUNDSMAN_ATTEMPT=" + strconv.Itoa(job.Attempt),
		"ROUNDSMAN_CHECKPOINT=" + withoutNUL(string(job.Checkpoint)),
		"ROUNDSMAN_FENCE=" + strconv.FormatInt(job.Fence, 10),
	}
}

func detectEnvironment(in jobtype.DetectInput) []string {
	return []string{
		"ROUNDSMAN_WORKER_ID=" + in.WorkerID,
		"ROUNDSMAN_JOB_TYPE=" + in.JobType,
	}
}

// withoutNUL keeps a strange key from making every start fail: no environment
// can hold a NUL byte.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", `\x00`) }
