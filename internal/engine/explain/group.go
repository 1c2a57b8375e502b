package explain

import "fmt"

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
func TextNoDetector(handler string) string {
	return "no worker with handler " + handler + " was usable"
}

// TextPagesLost is the error of a detection whose pages did not arrive.
func TextPagesLost(sent, arrived int) string {
	return fmt.Sprintf("the detector sent %d pages, %d arrived: this is a bug, please report it", sent, arrived)
}

// TextDetectionFailed is the error of a detection on a worker.
func TextDetectionFailed(worker, message string) string {
	return fmt.Sprintf("detection on %s: %s", worker, message)
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

// TextBacklog explains the wait of a job of the backlog.
func TextBacklog(open int) string {
	return fmt.Sprintf("%d jobs of the group come first, by priority and number", open)
}
