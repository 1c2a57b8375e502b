package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Failure is a message with which jobs of a run failed.
type Failure struct {
	// Message stands for all of them: where one names its key, it has KEY.
	Message string `json:"message"`
	// Count is how many jobs failed with it.
	Count int `json:"count"`
	// Example is the first of them.
	Example contract.JobError `json:"example"`
}

// GroupFailures groups failed jobs by their messages, the most frequent first.
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

// minKeyInMessage keeps a key like "1" from being found in every message.
const minKeyInMessage = 3
