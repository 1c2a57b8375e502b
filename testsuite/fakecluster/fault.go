package fakecluster

import (
	"context"
	"slices"
)

// Verdict is the effect of a fault on a call.
type Verdict uint8

// Pass lets a call through. FailBefore refuses it without an effect. FailAfter returns an error after its effect. Hang
// returns no answer until the caller gives up. Lie returns success without an effect.
const (
	Pass Verdict = iota
	FailBefore
	FailAfter
	Hang
	Lie
)

// Fault decides about a call before it is carried out. method is the last part of the gRPC name, server the address, ""
// for the master.
type Fault func(ctx context.Context, method, server string) Verdict

// SetFault sets the fault for all further calls; nil lets all pass.
func (c *Cluster) SetFault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Calls returns the calls as "server method" in order, and clears the list.
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

// CopyLimits returns the I/O limits of all copies of volumes.
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
