package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// The messages with which items settle. They are data: the record, the audit log
// and the terminal show them as they are.
const (
	textExpired = "expires_at passed before it could start"
	textRevoked = "its resources were given to another: "
	textBarred  = "; not tried again: "
	// TextCannotStart precedes the error of a worker on which programs do not start.
	TextCannotStart = "programs do not start there; one job is tried after each pause: "
	// textCheckpoint is about one of more checkpoints than a run can keep.
	textCheckpoint = "its checkpoint of %d bytes is dropped: those of the run have more than 512 KiB in all; its next attempt starts from the beginning"
)

func textPinnedOffline(node string) string {
	return "it is pinned to worker " + node + ", which is OFFLINE"
}

func textNoWorker(missing string, limit time.Duration) string {
	return fmt.Sprintf("%s: %s (waited %s)", contract.CodeNoWorker, missing, limit)
}

func textNotInstalled(workers []string, message string) string {
	return fmt.Sprintf("%s: no worker that may run it has the program (%s): %s", contract.CodeNotInstalled, nameSome(workers), message)
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
	if c.shared {
		return fmt.Sprintf("no worker pulls the shared queue of %s (start one with --shared %s)", c.jobType, c.jobType)
	}
	missing := e.Shortage(explain.Wanted{JobType: c.jobType, Handler: c.handler, Node: c.node, Labels: c.labels})
	if missing == "" { // A worker has just come, or those that match execute nothing.
		return "no online worker could serve " + strings.TrimSpace(c.handler+" "+Labels(c.labels))
	}
	return missing
}

// Shortage names what is missing until a worker of the view can serve; "" if nothing is.
func (e *Engine) Shortage(wanted explain.Wanted) string {
	workers := e.fleet.sorted()
	if w := e.fleet.byID[wanted.Node]; w != nil {
		workers = []*worker{w}
	}
	var servers []explain.Server
	for _, w := range workers {
		one := explain.Server{ID: w.ID, Labels: w.Labels, JobTypes: w.JobTypes, Capabilities: w.Capabilities}
		if slices.Contains(w.unsupported, wanted.Handler) {
			one.Capabilities = slices.DeleteFunc(slices.Clone(w.Capabilities), func(c contract.Capability) bool { return c.Handler == wanted.Handler })
		}
		switch {
		case !w.online():
			one.Away = string(w.State)
		case !w.Fresh:
			one.Away = explain.Silent
		case w.suspect:
			one.Away = "suspect (no heartbeat since it lost a job)"
		}
		servers = append(servers, one)
	}
	return wanted.Shortage(servers).Text()
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
