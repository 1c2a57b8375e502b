package workers

import (
	"context"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Only one goroutine at a time calls obey: Start, and then the registration loop.
func (n *Node) obey(settings contract.WorkerSettings) {
	n.heartbeat.follow(settings.Fleet)
	caps := contract.WorkerCaps{MaxDetect: n.options.MaxDetect, MaxExecute: n.options.MaxExecute}
	if settings.Resized != nil {
		caps = *settings.Resized
	}
	n.registry.registration.Resized, n.registry.registration.Kept = settings.Resized, settings.Kept
	if before := n.caps(); caps != before {
		if err := n.Resize(caps.MaxDetect, caps.MaxExecute); err != nil {
			n.options.Logger.Error("the registry's caps cannot be used", "worker", n.options.ID, "error", err)
		} else {
			n.options.Logger.Info("resized", "worker", n.options.ID, "max_detect", caps.MaxDetect, "max_execute", caps.MaxExecute,
				"max_detect_before", before.MaxDetect, "max_execute_before", before.MaxExecute)
		}
	}
	held := ""
	if settings.Held {
		held = contract.SharedQueuePrefix
	}
	n.executeSlots.Hold(held)
}

func (c *capacity) caps() contract.WorkerCaps {
	return contract.WorkerCaps{MaxDetect: c.detectSlots.MaxSlots(), MaxExecute: c.executeSlots.MaxSlots()}
}

// keptFromWork queries the registry for a drain or cordon: the sender may have received the end of a hold first.
// Without an answer the last settings count.
func (n *Node) keptFromWork(ctx context.Context) bool {
	if !n.executeSlots.Held(contract.SharedQueuePrefix) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, gateMaxWait)
	defer cancel()
	settings, err := n.registry.settings(ctx)
	if err != nil || !settings.Known || settings.Held {
		return true
	}
	n.Refresh()
	return false
}

func (n *Node) nap(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-n.refresh:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Refresh makes the node read its settings now. It returns at once.
func (n *Node) Refresh() {
	select {
	case n.refresh <- struct{}{}:
	default: // A refresh is pending already.
	}
}
