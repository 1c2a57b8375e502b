package explain

import (
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

// The texts of the end of a group, without fields.
const (
	// TextGroupCanceled is the reason of a cancellation without one.
	TextGroupCanceled = "the group was canceled"
	// TextDrained and TextWindowDrained end the attempts of a group after drain_grace.
	TextDrained       = "max_runtime and drain_grace are over"
	TextWindowDrained = string(contract.CodeWindowEnd) + ": the window and drain_grace are over"
	// TextEveryCanceled ends a group without another job.
	TextEveryCanceled = "every job was canceled"
	// TextEveryActive and TextEveryHeld end a group without a free key.
	TextEveryActive = "every key is active in another run"
	TextEveryHeld   = "every key is held back"
	// TextNoWindow is the end of a group whose window never opens.
	TextNoWindow = "no window opens within 400 days"
)

// TextMaxRuntime is the reason of a group that has reached max_runtime.
func TextMaxRuntime(limit fmt.Stringer) string {
	return "max_runtime of " + limit.String() + " is over"
}

// TextNeverDetected follows the reason of a group that could not detect in its time.
func TextNeverDetected(handler string) string {
	return ": no worker with handler " + handler + " was available to detect"
}

// TextClaimsRefused is the reason of a group without its claims.
func TextClaimsRefused(reason string) string { return "the claims were refused: " + reason }

// TextActiveKey names a key and the run with it.
func TextActiveKey(key, run string) string { return fmt.Sprintf("key %q is active in %s", key, run) }

// TextHeldKey is the state of a key that is held back; more keys are held back or active in other runs.
func TextHeldKey(key, detail string, more int) string {
	text := fmt.Sprintf("key %q is %s", key, detail)
	if more > 0 {
		text += fmt.Sprintf(", and %d more are held back or active elsewhere", more)
	}
	return text
}

// TextFailing is the end of a group that leaves keys to its retry budget; key is one of them, if known.
func TextFailing(n int, key, jobType string) string {
	text := fmt.Sprintf("%d held back after failures", n)
	if key != "" {
		text += fmt.Sprintf(", such as %q; see `roundsman holds %s`", key, jobType)
	}
	return text
}
