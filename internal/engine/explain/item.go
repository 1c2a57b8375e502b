package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// The messages with which items settle. They are data: the record, the audit log and the
// terminal show them unchanged.
const (
	// TextExpired and the next ones are errors of items.
	TextExpired = "expires_at passed before it could start"
	TextRevoked = "its resources were given to another: "
	TextBarred  = "; not tried again: "
	// TextDue is the wait of a task after its deferral.
	TextDue = "its deferral is over; it gets the next place before others of its priority"
	// TextCannotStart precedes the error of a worker on which programs do not start.
	TextCannotStart = "programs do not start there; one job is tried after each pause: "
	// TextCheckpoint reports a checkpoint beyond the bound of a run's checkpoints.
	TextCheckpoint = "its checkpoint of %d bytes is dropped: those of the run have more than 512 KiB in all; its next attempt starts from the beginning"
)

// TextPinnedOffline is the error of an item whose node is OFFLINE.
func TextPinnedOffline(node string) string {
	return "it is pinned to worker " + node + ", which is OFFLINE"
}

// TextNoWorker is the error of an item without a worker.
func TextNoWorker(missing string, limit time.Duration) string {
	return fmt.Sprintf("%s: %s (waited %s)", contract.CodeNoWorker, missing, Setting(limit))
}

// TextNotInstalled is the error of an item whose program is on no worker.
func TextNotInstalled(workers []string, message string) string {
	return fmt.Sprintf("%s: no worker that may run it has the program (%s): %s", contract.CodeNotInstalled, NameSome(workers), message)
}

// TextCuts appends the number of stops without progress to a reason.
func TextCuts(reason string, cuts int) string {
	return fmt.Sprintf("%s; it was stopped so %d times without a new checkpoint: give it more time (drain_grace, a longer window) or let its handler make checkpoints", reason, cuts)
}

// TextRecoveryFails follows the message of an item that lost its worker.
const TextRecoveryFails = " (recovery is fail)"

// TextLost names the item and the worker with which a run ends under recovery: fail. For a DAG
// as an item the worker is empty; its message names one.
func TextLost(item, worker, message string) string {
	if worker == "" {
		return item + ": " + message
	}
	return item + " was lost with worker " + worker + ": " + message
}

// TextLosesWorkers is the error of an item that was lost with these workers within a time.
func TextLosesWorkers(workers []string, within time.Duration, limit int, message string) string {
	return fmt.Sprintf("%s: %s within %s (worker_loss_limit is %d): %s", contract.CodeLosesWorkers, lostWith(workers), Setting(within), limit, message)
}

// TextApart is the wait of an item for a worker without another item that was lost as often.
func TextApart(workers []string) string {
	return lostWith(workers) + ": it waits for a worker without another such job, because one of them may kill workers"
}

func lostWith(workers []string) string {
	return "lost with " + NameSome(lists.Map(workers, func(worker string) string { return cmp.Or(worker, "a worker "+TextSharedWorker) }))
}

// TextIDTaken appends the wait for the id to a refusal.
func TextIDTaken(message string, waited time.Duration) string {
	return fmt.Sprintf("%s: cancel it, or wait for its end, and retry (it was waited for %s)", message, Setting(waited))
}

// TextZombie reports an attempt whose end is not awaited; ignored means that it was stopped in vain.
func TextZombie(reason, worker string, ignored bool) string {
	if worker != "" {
		worker = " on " + worker // Before it starts, an attempt of a shared queue has no worker.
	}
	if ignored {
		worker += " did not stop and"
	}
	return reason + "; its handler" + worker + " may still run"
}

// TextBy appends the operator and the note, if known.
func TextBy(done, by, note string) string {
	if by != "" {
		done += " by " + by
	}
	if note != "" {
		done += ": " + note
	}
	return done
}

// TextDeferred is the wait of a deferred item, with the handler's reason.
func TextDeferred(code contract.Code, until time.Time, reason string) string {
	at := until.UTC().Format(time.RFC3339)
	if code == contract.CodeGuard {
		return fmt.Sprintf("the guard fails, its next check is at %s: %s", at, reason)
	}
	return fmt.Sprintf("deferred until %s: %s", at, reason)
}

// TextPaused is [TextBy] for a paused run.
func TextPaused(by, note string) string { return TextBy("the run is paused", by, note) }

// Labels formats labels, sorted by name and separated by spaces.
func Labels(labels map[string]string) string {
	return strings.Join(lists.Map(slices.Sorted(maps.Keys(labels)), func(name string) string { return name + "=" + labels[name] }), " ")
}

// MaxNamed bounds the workers named in a text.
const MaxNamed = 10

// unnamed marks the rest of the ids.
const unnamed = "…"

// NameSome joins the first ids, with a mark for the rest.
func NameSome(ids []string) string {
	if len(ids) > MaxNamed {
		ids = append(ids[:MaxNamed:MaxNamed], unnamed)
	}
	return strings.Join(ids, ", ")
}

// NamesIn returns the ids that [NameSome] joined.
func NamesIn(joined string) []string {
	return slices.DeleteFunc(strings.Split(joined, ", "), func(id string) bool { return id == unnamed })
}

// TextWarnings is the warning of an item whose tasks had n warnings; empty for 0.
func TextWarnings(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of its tasks completed with a warning", n)
}
