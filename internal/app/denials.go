package app

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/starter"
)

// A caller with thousands of refused requests causes one audit entry per interval.
const denialsEvery = 10 * time.Second

const mostDenials = 500

type denials struct {
	client *starter.Client
	mu     sync.Mutex
	sums   map[denial]*contract.AuditEntry
	end    context.CancelFunc
	done   chan struct{}
}

type denial struct{ actor, from, via, auth, operation string }

func newDenials(client *starter.Client) *denials {
	ctx, end := context.WithCancel(context.Background())
	d := &denials{client: client, sums: map[denial]*contract.AuditEntry{}, end: end, done: make(chan struct{})}
	go d.run(ctx)
	return d
}

func (d *denials) add(caller api.Caller, operation string) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	key := denial{caller.Name, caller.Address, caller.Via, caller.Auth, operation}
	sum := d.sums[key]
	if sum == nil {
		if len(d.sums) == mostDenials {
			return
		}
		sum = &contract.AuditEntry{
			Kind: contract.AuditOperator, Action: contract.AuditRefused, Code: contract.CodeAccessDenied, Object: operation,
			Actor: caller.Name, From: caller.Address, Via: caller.Via, Auth: caller.Auth, Since: now,
		}
		d.sums[key] = sum
	}
	sum.Count++
	sum.At = now
}

func (d *denials) run(ctx context.Context) {
	defer close(d.done)
	tick := time.NewTicker(denialsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.flush(ctx)
		}
	}
}

func (d *denials) flush(ctx context.Context) {
	d.mu.Lock()
	entries := make([]contract.AuditEntry, 0, len(d.sums))
	for _, sum := range d.sums {
		entries = append(entries, *sum)
	}
	clear(d.sums)
	d.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	slices.SortFunc(entries, func(a, b contract.AuditEntry) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Object, b.Object))
	})
	d.client.Audit().Record(ctx, entries...)
}

func (d *denials) stop(ctx context.Context) {
	d.end()
	<-d.done
	d.flush(ctx)
}
