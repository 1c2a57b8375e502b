package fakecluster

import (
	"context"
	"slices"
)

// Verdict is what a fault makes of a call.
type Verdict uint8

// Pass lets a call through. FailBefore refuses it without an effect, FailAfter
// answers with an error although it had its effect, Hang answers nothing until the
// caller gives up, Lie answers well without an effect.
const (
	Pass Verdict = iota
	FailBefore
	FailAfter
	Hang
	Lie
)

// Fault judges a call before it is carried out. Method is the last part of the gRPC
// name, server the address, "" for the master.
type Fault func(ctx context.Context, method, server string) Verdict

// SetFault makes f judge every call from now on; nil lets all pass.
func (c *Cluster) SetFault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Calls lists what was called, as "server method" in order, and forgets it.
func (c *Cluster) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

func (c *Cluster) judge(ctx context.Context, method, server string) Verdict {
	c.mu.Lock()
	fault := c.fault
	if len(c.calls) < 1<<16 {
		c.calls = append(c.calls, server+" "+method)
	}
	c.mu.Unlock()
	if fault == nil {
		return Pass
	}
	return fault(ctx, method, server)
}

// CopyLimits lists the I/O limits of the copies of volumes so far.
func (c *Cluster) CopyLimits() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.limits)
}

func (c *Cluster) limit(bytesPerSecond int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.limits) < 1<<16 {
		c.limits = append(c.limits, bytesPerSecond)
	}
}
