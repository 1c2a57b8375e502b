package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Failure is an error message shared by failed jobs of a run.
type Failure struct {
	// Message is the common message, with KEY in place of each job's key.
	Message string `json:"message"`
	Count   int    `json:"count"`
	// Example is the first such job.
	Example contract.JobError `json:"example"`
}

// GroupFailures groups failed jobs by message, the most frequent first.
func GroupFailures(listed []contract.JobError) []Failure {
	at := map[string]int{}
	var failures []Failure
	for _, failed := range listed {
		message := failed.Message
		if len(failed.DedupeKey) >= minKeyInMessage {
			message = strings.ReplaceAll(message, failed.DedupeKey, "KEY")
		}
		i, known := at[message]
		if !known {
			i = len(failures)
			at[message] = i
			failures = append(failures, Failure{Message: message, Example: failed})
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

// minKeyInMessage excludes short keys like "1", which occur in every message.
const minKeyInMessage = 3
