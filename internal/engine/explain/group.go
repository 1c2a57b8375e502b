package explain

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TextAttempts is the number of attempts of a failed detection.
func TextAttempts(attempts int) string {
	if attempts < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d, the last)", attempts)
}

// TextUnprepared is the cause of a group that could not look up its workers.
func TextUnprepared(why string) string { return "the workers could not be looked up: " + why }

// TextNoDetector is the cause of a wait for a worker.
func TextNoDetector(code contract.Code, handler string) string {
	if code == contract.CodeFleetRecovering {
		return textFleetRecovering
	}
	return "no worker with handler " + handler + " was usable"
}

// Lacking returns why no worker can serve: the registry is incomplete, or something is missing.
func Lacking(incomplete bool, missing string) (code contract.Code, detail string) {
	if incomplete {
		return contract.CodeFleetRecovering, textFleetRecovering
	}
	return contract.CodeNoWorker, missing
}

const textFleetRecovering = "the worker registry is new: workers that live may not have registered with it yet"

// TextPagesLost is the error of a detection whose pages did not arrive.
func TextPagesLost(sent, arrived int) string {
	return fmt.Sprintf("the detector sent %d pages, %d arrived: this is a bug, please report it", sent, arrived)
}

// TextDetectionFailed is the error of a detection on a worker.
func TextDetectionFailed(worker, message string) string {
	return fmt.Sprintf("detection on %s: %s", worker, message)
}

// TextDetectionTimeout is the error of a detection that the server has ended.
func TextDetectionTimeout(timeout jobtype.Duration) string {
	return "over the detection timeout of " + timeout.String()
}

// TextDetectorsLack is the error of a detection whose program no worker has.
func TextDetectorsLack(workers int, message string) string {
	return fmt.Sprintf("none of %d workers that detect has the program: %s", workers, message)
}

// TextDoNotFit is the number of jobs that do not fit into a window.
func TextDoNotFit(n int) string {
	if n == 1 {
		return "1 job does not fit"
	}
	return fmt.Sprintf("%d jobs do not fit", n)
}

// TextFull is the cause of a worker that a full group misses.
func TextFull(most int) string {
	return fmt.Sprintf("the group is full before its turn: max_jobs_per_detection is %d", most)
}

// TextSurplus is the cause of proposals that a group does not take.
func TextSurplus(most int) string {
	return fmt.Sprintf("more than max_jobs_per_detection (%d), or more than a group holds: 32 MiB, 1,800 pages, or jobs of 10,000 combinations of priority, node and labels", most)
}

// TextBacklog explains the wait of jobs of the backlog.
func TextBacklog(open int) string {
	return fmt.Sprintf("%d open jobs of the group come first: the most urgent of each class, by number", open)
}

const (
	// TextClaiming is the wait of jobs whose keys were requested.
	TextClaiming = "their dedupe keys are being claimed"
	// TextPageLost ends a job whose key is unknown.
	TextPageLost = string(contract.CodePageLost) + ": the page with its proposal is lost, so its dedupe key is unknown; run the job type again"
	// TextDuplicate ends a job with the key of another one.
	TextDuplicate = "another proposal of the run has the same dedupe key"
	// TextKeyHeld is the beginning of the end of a job with a disabled key.
	TextKeyHeld = "its dedupe key is "
)

// TextKeysUnread is the wait of jobs whose keys could not be read.
func TextKeysUnread(why string) string {
	text := "their dedupe keys could not be read from the pages"
	if why == "" {
		return text
	}
	return text + ": " + jobtype.ClipCause(why, 300)
}

// TextKeyActive ends a job whose key another run holds.
func TextKeyActive(by string) string { return "its dedupe key is active in " + by }

// TextBacklogTaken ends the backlog of a run.
func TextBacklogTaken(by, jobType string) string {
	return fmt.Sprintf("%s works on a backlog of job type %s; the next detection finds the rest again", by, jobType)
}

// TextDetectsAgain is the state of a detection between two attempts.
func TextDetectsAgain(attempt, of int, next time.Time, why string) string {
	return fmt.Sprintf("attempt %d of %d failed, the next begins at %s; %s", attempt, of, next.UTC().Format(time.RFC3339), why)
}

// TextTooLarge is the refusal of a group that could have more jobs than any.
func TextTooLarge(jobType string, most int) string {
	return fmt.Sprintf("max_jobs_per_detection is %d, a group has at most %d: `roundsman set %s max_jobs_per_detection=%d`", most, jobtype.MaxJobsLimit, jobType, jobtype.MaxJobsLimit)
}

// TextMissed names the first of the workers without a detection.
func TextMissed(missed, workers int, first contract.MissedWorker) string {
	return fmt.Sprintf("%d of %d workers missed: %s: %s: %s", missed, workers, first.Worker, first.Code, first.Detail) + textMore(missed-1, "")
}

// TextActiveIn names the run with a key, and the number of other keys.
func TextActiveIn(key, run string, more int) string {
	return fmt.Sprintf("%q is active in %s", key, run) + textMore(more, " with others")
}

func textMore(more int, rest string) string {
	if more < 1 {
		return ""
	}
	return fmt.Sprintf(", and %d more%s", more, rest)
}
