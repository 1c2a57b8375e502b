package explain

import (
	"fmt"
	"time"
)

// The texts of a group before its first job, without fields.
const (
	// TextDetecting and the next ones are waits of jobs.
	TextDetecting   = "the detection has not ended"
	TextGroupClaims = "the group waits for its claims"
	TextLateClaims  = "it was found late; the group waits for its claims"
	// TextClaims is the wait of a group for its claims.
	TextClaims = "it waits for its claims"
	// TextDetectorsBusy is the wait of a detection for a slot.
	TextDetectorsBusy = "every worker that could detect is too busy for another detection (raise --max-detect if detections are slow)"
	// TextCannotDetect follows the cause of a wait for a detector.
	TextCannotDetect = "; it cannot detect"
	// TextLaneNotHeld follows the wait of a group with a lane for workers.
	TextLaneNotHeld = "; the lane is not held"
	// TextNoDetectSlot is the cause of a worker on which a detection did not begin.
	TextNoDetectSlot = "it has no free detect slot (raise --max-detect)"
	// TextDeregistered is the cause of a worker that has left before its detection.
	TextDeregistered = "it is registered no longer"
	// TextTargets is the wait of a detection on every worker.
	TextTargets = "it waits for workers that may detect in a moment"
	// TextLooksUpSuccesses and TextLooksUpWindow are waits of a group that has just begun.
	TextLooksUpSuccesses = "it looks up the last successes of other job types"
	TextLooksUpWindow    = "it looks up its maintenance window"
	// TextWindowAwaited is the delay of a run by its window.
	TextWindowAwaited = "it waited for its window to open"
	// TextLaneRefused is the wait of a group whose lane was refused after an approval.
	TextLaneRefused = "admission has refused its lane after an approval; it requests the lane again"
)

// TextTurn is the wait for a turn in a lane; bounded means that the jobs expire.
func TextTurn(afterApproval, bounded bool) string {
	text, until := "it waits for its turn", ", however long that takes"
	if afterApproval {
		text += " after an approval"
	}
	if bounded {
		until = ", until its jobs have expired"
	}
	return text + until
}

// TextTurnIn is the short wait for a turn.
func TextTurnIn(lane string) string { return "it waits for its turn in lane " + lane }

// TextTurnAwaited is the delay of a run by others in its lane.
func TextTurnAwaited(lane string) string { return "it waited for its turn in lane " + lane }

// TextLaneAwaited is the delay of a run by its lane after an approval.
func TextLaneAwaited(lane string) string { return "it waited for lane " + lane + " after an approval" }

// TextFirstStart is the wait of submitted jobs.
func TextFirstStart(first time.Time) string {
	return "no submitted job may start before " + stamp(first)
}

// TextDetectSlot is the short wait for a slot of a detector.
func TextDetectSlot(workers string) string { return "a detect slot of " + workers }

// TextWindowUntil is the short wait for a window.
func TextWindowUntil(opens time.Time, why string) string {
	return fmt.Sprintf("its window is closed until %s: %s", stamp(opens), why)
}

// TextTarget is the wait of a detection on every worker for the first of them.
func TextTarget(worker string, until time.Time, why string) string {
	return fmt.Sprintf("worker %s is waited for until %s: %s", worker, stamp(until), why)
}

// TextDetection is the note of a detection that is done again elsewhere.
func TextDetection(message string) string { return "the detection: " + message }

// TextCanceling is the error of a job whose attempt is being canceled.
func TextCanceling(reason string) string { return "it is being canceled: " + reason }

// TextNoWorkerIn is the end of a group that waited in vain for a worker.
func TextNoWorkerIn(missing string, waited time.Duration) string {
	return fmt.Sprintf("%s (waited %s)", missing, Span(waited.Round(time.Second)))
}

// TextNoTurn is the end of a group without its turn; without a lane, admission did not answer for maxWait.
func TextNoTurn(lane string, maxWait time.Duration) string {
	if lane == "" {
		return fmt.Sprintf("admission did not answer for a whole interval (%s)", Setting(maxWait))
	}
	return fmt.Sprintf("lane %s was busy until every job had expired (expires_at)", lane)
}

// TextHold is the wait of a group for a window that is long enough.
func TextHold(opens time.Time) string {
	return "nothing that is left fits into this window; the next one opens at " + stamp(opens)
}

// TextWindowShut is the end of a group in its window; late jobs do not fit into its rest.
func TextWindowShut(closes, next time.Time, late int, never string) string {
	text := "the window closed at " + stamp(closes)
	if !next.IsZero() {
		text += ", the next one opens at " + stamp(next)
	}
	if late > 0 {
		text += fmt.Sprintf("; %s into its rest%s", TextDoNotFit(late), never)
	}
	return text
}

// TextNothingFits is the end of a group whose jobs do not fit.
func TextNothingFits(late int, closes time.Time, never string) string {
	return fmt.Sprintf("%s before the window closes at %s%s", TextDoNotFit(late), stamp(closes), never)
}

// TextNever counts the jobs that are longer than every window; only a person can help them. It is
// empty if there are none.
func TextNever(jobs int, longest time.Duration) string {
	switch jobs {
	case 0:
		return ""
	case 1:
		return "; 1 of them never fits: " + textLongest(longest)
	}
	return fmt.Sprintf("; %d of them never fit: %s", jobs, textLongest(longest))
}

func textLongest(longest time.Duration) string {
	return "no window of the next weeks is longer than " + Setting(longest)
}

// Unfit is a job that does not fit into a window.
type Unfit struct {
	Closes time.Time
	// Longest is the length of the longest window, if known.
	Longest time.Duration
	// Ready is the earliest start, Rest the remaining part of the Whole run time.
	Ready       time.Time
	Rest, Whole time.Duration
	// Learned is the number of runs from which Whole was learned; the job has no estimate.
	Learned   int
	Estimated bool
}

// Text explains why the job does not fit.
func (u Unfit) Text() string {
	closes := "the window closes at " + stamp(u.Closes)
	if !u.Ready.Before(u.Closes) {
		return fmt.Sprintf("it does not start before %s, and %s", stamp(u.Ready), closes)
	}
	length := "its estimated_runtime of " + Setting(u.Whole)
	if !u.Estimated {
		length = fmt.Sprintf("the learned p95 of %d runs, %s,", u.Learned, Span(u.Whole))
	}
	if u.Rest < u.Whole {
		length = fmt.Sprintf("the rest of %s after its checkpoint, %s,", length, Span(u.Rest))
	}
	text := fmt.Sprintf("%s does not fit before %s", length, closes)
	if u.Longest > 0 && u.Rest > u.Longest {
		text += "; it never fits: " + textLongest(u.Longest)
	}
	return text
}

// TextAwayTooLong is the end of a submitted group after maxAway.
func TextAwayTooLong(maxAway time.Duration) string {
	return fmt.Sprintf("it has been coming back for %d days: submit the wanted jobs again", maxAway/(24*time.Hour))
}

// TextBatch names a batch.
func TextBatch(items int) string { return fmt.Sprintf("batch of %d", items) }

// TextItems counts the proposals of a batch, for messages; empty for a single proposal.
func TextItems(items int) string {
	if items == 0 {
		return ""
	}
	return fmt.Sprintf(" (with all %d items of its batch)", items)
}
