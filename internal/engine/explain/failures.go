package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Failure is an error message shared by failed jobs of a run. Sizes and long numbers in it may differ.
type Failure struct {
	// Message is the first job's, with KEY in place of its key.
	Message string `json:"message"`
	// Code is the code at the start of Message; empty for the error of a program.
	Code  contract.Code `json:"code,omitempty"`
	Count int           `json:"count"`
	// Example is the first such job.
	Example contract.JobError `json:"example"`
}

// GroupFailures groups failed jobs by message, the most frequent first.
func GroupFailures(listed []contract.JobError) []Failure {
	at := map[string]int{}
	var failures []Failure
	for _, failed := range listed {
		message, key := withoutKey(failed), FailureKey(failed)
		i, known := at[key]
		if !known {
			i = len(failures)
			at[key] = i
			failures = append(failures, Failure{Message: message, Code: contract.CodeOfError(failed.Message), Example: failed})
		}
		failures[i].Count++
	}
	for i, failure := range failures {
		if failure.Count == 1 {
			failures[i].Message = failure.Example.Message
		}
	}
	slices.SortStableFunc(failures, func(a, b Failure) int { return cmp.Compare(b.Count, a.Count) })
	return failures
}

// RemedyOfFailure returns the help for a failure that a retry repeats; empty for the others. A lost page has the work of
// the jobs, so only the next detection finds it again.
func RemedyOfFailure(code contract.Code, run, jobType string) Remedy {
	_, _, submitted := contract.AdHocOf(run)
	switch {
	case code != contract.CodePageLost, !strings.HasPrefix(run, contract.GroupWorkflowID("")):
		return Remedy{}
	case submitted:
		return Remedy{Hint: "a retry cannot read these jobs: submit them again"}
	}
	return Remedy{
		Hint:    "a retry cannot read these jobs: the next detection finds what is left of them",
		Actions: []action.Action{about(action.RunJobType, "name", jobType)},
	}
}

// manyOnOne is the number of equal failures on one worker that points to the worker and not to the jobs.
const manyOnOne = 3

// RemedyOfWorker returns the help for equal failures that are all on one worker; empty for a few of them.
func RemedyOfWorker(worker string, failures int) Remedy {
	if failures < manyOnOne {
		return Remedy{}
	}
	return Remedy{Hint: "all on " + worker + ": cordon it, and retry on the other workers", Actions: []action.Action{about(action.CordonWorker, "id", worker)}}
}

// FailureKey is equal for failed jobs with the same message.
func FailureKey(failed contract.JobError) string {
	return amounts.ReplaceAllString(withoutKey(failed), "#")
}

// amounts matches decimals and long numbers, which differ between jobs with one cause. An exit status has
// at most three digits.
var amounts = regexp.MustCompile(`0x[0-9a-fA-F]+|\d+\.\d+|\d{4,}`)

func withoutKey(failed contract.JobError) string {
	if len(failed.DedupeKey) < minKeyInMessage {
		return failed.Message
	}
	return strings.ReplaceAll(failed.Message, failed.DedupeKey, "KEY")
}

// minKeyInMessage excludes short keys like "1", which occur in every message.
const minKeyInMessage = 3
