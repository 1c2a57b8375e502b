package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/runview"
	"github.com/roundsman/roundsman/jobtype"
)

// inherited omits the worker's credentials and identity.
func (o Options) inherited() []string {
	var env []string
	for _, variable := range o.Environ() {
		if !strings.HasPrefix(variable, "TEMPORAL_") && !strings.HasPrefix(variable, "ROUNDSMAN_") {
			env = append(env, variable)
		}
	}
	return env
}

// Later variables win: inherited ones, the user's, Roundsman's, those of the configuration, those of files.
func (p program) environment() []string {
	return slices.Concat(p.account.without(p.inherited), p.account.environment(), p.own, p.configured)
}

func jobEnvironment(job jobtype.Job) []string {
	return append(runview.Environment(job.Run, job.WorkerLabels),
		"ROUNDSMAN_BATCH_SIZE="+strconv.Itoa(len(job.Items())),
		"ROUNDSMAN_WORKER_ID="+job.WorkerID,
		"ROUNDSMAN_JOB_TYPE="+job.JobType,
		"ROUNDSMAN_GROUP_ID="+job.GroupID,
		"ROUNDSMAN_JOB_ID="+job.ID,
		"ROUNDSMAN_DEDUPE_KEY="+withoutNUL(job.DedupeKey),
		"ROUNDSMAN_ATTEMPT="+strconv.Itoa(job.Attempt),
		"ROUNDSMAN_CHECKPOINT="+withoutNUL(string(job.Checkpoint)),
		"ROUNDSMAN_FENCE="+strconv.FormatInt(job.Fence, 10),
	)
}

func detectEnvironment(in jobtype.DetectInput) []string {
	return append(runview.Environment(in.Run, in.WorkerLabels), "ROUNDSMAN_WORKER_ID="+in.WorkerID, "ROUNDSMAN_JOB_TYPE="+in.JobType)
}

// No environment can hold a NUL byte: a strange key would make every start fail.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", `\x00`) }
