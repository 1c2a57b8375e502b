package fakecluster

import (
	"context"
	"slices"
	"sync"
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

// faults decides about the calls, and records them.
type faults struct {
	mu    sync.Mutex
	fault Fault
	calls []string
	// limits are the I/O limits of the copies so far, in bytes per second.
	limits []int64
}

// SetFault sets the fault for all further calls; nil lets all pass.
func (f *faults) SetFault(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Calls returns the calls as "server method" in order, and clears the list.
func (f *faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *faults) judge(ctx context.Context, method, server string) Verdict {
	f.mu.Lock()
	fault := f.fault
	if len(f.calls) < 1<<16 {
		f.calls = append(f.calls, server+" "+method)
	}
	f.mu.Unlock()
	if fault == nil {
		return Pass
	}
	return fault(ctx, method, server)
}

// CopyLimits returns the I/O limits of all copies of volumes.
func (f *faults) CopyLimits() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.limits)
}

func (f *faults) limit(bytesPerSecond int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.limits) < 1<<16 {
		f.limits = append(f.limits, bytesPerSecond)
	}
}
