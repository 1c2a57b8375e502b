package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The messages with which items settle. They are data: the record, the audit log
// and the terminal show them as they are.
const (
	textExpired = "expires_at passed before it could start"
	textRevoked = "its resources were given to another: "
	textBarred  = "; not tried again: "
	// textCheckpoint is about one of more checkpoints than a run can keep.
	textCheckpoint = "its checkpoint of %d bytes is dropped: those of the run have more than 512 KiB in all; its next attempt starts from the beginning"
)

func textPinnedOffline(node string) string {
	return "it is pinned to worker " + node + ", which is OFFLINE"
}

func textNoWorker(missing string, limit time.Duration) string {
	return fmt.Sprintf("%s for %s", missing, limit)
}

func textCuts(reason string, cuts int) string {
	return fmt.Sprintf("%s; it was stopped so %d times without a new checkpoint: give it more time (drain_grace, a longer window) or let its handler make checkpoints", reason, cuts)
}

func textLostTooOften(message string, losses, limit int) string {
	return fmt.Sprintf("%s (lost %d times, worker_loss_limit is %d)", message, losses, limit)
}

func textIDTaken(message string) string {
	return fmt.Sprintf("%s: cancel it, or wait for its end, and retry (it was waited for %s)", message, idTries*idPause)
}

// textZombie is about an attempt whose end is not waited for; did tells what its handler
// did when it was told to stop.
func textZombie(reason, worker, did string) string {
	if worker != "" {
		worker = " on " + worker // An attempt of a shared queue has none before it is taken.
	}
	return reason + "; its handler" + worker + did + " may still run"
}

// TextBy is what was done, by whom and why, as far as that is known.
func TextBy(done, by, note string) string {
	if by != "" {
		done += " by " + by
	}
	if note != "" {
		done += ": " + note
	}
	return done
}

// TextPaused is [TextBy] for a run that is paused.
func TextPaused(by, note string) string { return TextBy("the run is paused", by, note) }

// Labels spells labels, sorted by name and separated by spaces.
func Labels(labels map[string]string) string {
	words := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, " ")
}

// missing says what kind of worker a class has not got.
func (e *Engine) missing(c *class) string {
	switch {
	case c.shared:
		return fmt.Sprintf("no worker pulls the shared queue of %s (start one with --shared %s)", c.jobType, c.jobType)
	case c.node != "":
		return fmt.Sprintf("worker %s is not available with handler %s", c.node, c.handler)
	case len(c.labels) > 0:
		return fmt.Sprintf("no worker with handler %s and labels %s is available", c.handler, Labels(c.labels))
	}
	return fmt.Sprintf("no worker with handler %s is available", c.handler)
}

// String names resources for people.
func (n Needs) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n.Pools)) {
		parts = append(parts, fmt.Sprintf("%d of pool %s", n.Pools[name], name))
	}
	for _, object := range n.Exclusive {
		parts = append(parts, "object "+object)
	}
	for _, object := range n.Shared {
		parts = append(parts, "object "+object+" (shared)")
	}
	return strings.Join(parts, ", ")
}
