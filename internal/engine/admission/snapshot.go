package admission

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Snapshot is the whole state. A restored core recovers again, so a recovery is saved without what is reported again.
type Snapshot struct {
	Seq        int64                       `json:"seq"`
	Next       int64                       `json:"next"`
	Holders    []savedHolder               `json:"holders,omitempty"`
	Pools      []savedPool                 `json:"pools,omitempty"`
	Had        map[string]map[string]int64 `json:"had,omitempty"`
	Passes     map[string][]int64          `json:"passes,omitempty"`
	Outcomes   *outcomes                   `json:"outcomes,omitempty"`
	Past       *savedPasts                 `json:"past,omitempty"`
	Results    []contract.KeyResult        `json:"results,omitempty"`
	Recovering bool                        `json:"recovering,omitempty"`
	Until      int64                       `json:"until,omitempty"`
	// Resized lists the pools that operators have resized during the recovery.
	Resized []string `json:"resized,omitempty"`
}

type savedHolder struct {
	ID       string                `json:"i"`
	Run      string                `json:"r"`
	Grace    time.Duration         `json:"g,omitempty"`
	Budget   *contract.RetryBudget `json:"b,omitempty"`
	Requests []savedRequest        `json:"q"`
}

type savedRequest struct {
	ID       string        `json:"i"`
	Lane     string        `json:"l,omitempty"`
	Distinct bool          `json:"d,omitempty"`
	Keys     []byte        `json:"k,omitempty"`
	Pools    []savedAmount `json:"p,omitempty"`
	Objects  []savedObject `json:"o,omitempty"`
	Priority int           `json:"y,omitempty"`
	Fences   int64         `json:"n,omitempty"`
	For      string        `json:"w,omitempty"`
	Start    bool          `json:"s,omitempty"`

	Budget  *contract.TaskBudget `json:"b,omitempty"`
	JobType string               `json:"t,omitempty"`
	Seq     int64                `json:"q"`
	Since   int64                `json:"a,omitempty"`
	Granted bool                 `json:"g,omitempty"`
	Fence   int64                `json:"f,omitempty"`
	FreeAt  int64                `json:"e,omitempty"`
	Waited  time.Duration        `json:"u,omitempty"`
	Orphan  bool                 `json:"x,omitempty"`
	Aged    bool                 `json:"h,omitempty"`
	Reserve *savedReserve        `json:"v,omitempty"`
}

type savedAmount struct {
	Pool string `json:"p"`
	N    int    `json:"n"`
}

type savedObject struct {
	Name   string `json:"o"`
	Shared bool   `json:"s,omitempty"`
}

type savedReserve struct {
	Names  []string `json:"n,omitempty"`
	Since  int64    `json:"s,omitempty"`
	Rounds int      `json:"r,omitempty"`
}

type savedPool struct {
	Name       string `json:"n"`
	Declared   int    `json:"d,omitempty"`
	DeclaredAt int64  `json:"a,omitempty"`
	Operator   int    `json:"o,omitempty"`
}

// PackKeys encodes keys as eight bytes each.
func PackKeys(keys []uint64) []byte {
	if len(keys) == 0 {
		return nil
	}
	packed := make([]byte, 0, 8*len(keys))
	for _, key := range keys {
		packed = binary.BigEndian.AppendUint64(packed, key)
	}
	return packed
}

// UnpackKeys is the inverse of [PackKeys].
func UnpackKeys(packed []byte) ([]uint64, error) {
	if len(packed)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are no keys of eight bytes each", len(packed))
	}
	if len(packed) == 0 {
		return nil, nil
	}
	keys := make([]uint64, 0, len(packed)/8)
	for ; len(packed) > 0; packed = packed[8:] {
		keys = append(keys, binary.BigEndian.Uint64(packed))
	}
	return keys, nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Snapshot returns the state.
func (c *Core) Snapshot() Snapshot {
	s := Snapshot{Seq: c.seq, Next: c.next, Had: map[string]map[string]int64{}, Passes: map[string][]int64{}, Outcomes: c.outcomes, Past: c.past.save(), Results: c.results.save()}
	for h := range c.order.all() {
		saved := savedHolder{ID: h.WorkflowID, Run: h.FirstRunID, Grace: h.grace, Budget: h.budget}
		for r := range h.requests.all() {
			saved.Requests = append(saved.Requests, c.save(r))
		}
		s.Holders = append(s.Holders, saved)
	}
	for name := range c.pools.pools.all() {
		p := c.pools.byName[poolMark+name]
		s.Pools = append(s.Pools, savedPool{Name: name, Declared: p.declared, DeclaredAt: nanos(p.declaredAt), Operator: p.operator})
	}
	for name := range c.lanes.names.all() {
		if had := c.lanes.byName[name].had; len(had) > 0 {
			s.Had[name] = maps.Clone(had)
		}
	}
	for _, marked := range sortedKeys(c.pools.byName) {
		if passes := c.pools.byName[marked].passes; len(passes) > 0 {
			s.Passes[marked] = slices.Clone(passes)
		}
	}
	if c.recovery != nil {
		s.Recovering, s.Until, s.Resized = true, nanos(c.recovery.Until), sortedKeys(c.recovery.resized)
	}
	return s
}

func (c *Core) save(r *request) savedRequest {
	saved := savedRequest{
		ID: r.ID, Lane: r.Lane, Distinct: r.Distinct, Priority: r.Priority, Fences: r.Fences, For: r.For, Start: r.Start, Budget: r.Budget,
		JobType: r.JobType, Seq: r.Seq, Since: nanos(r.Since), Granted: r.Granted, Fence: r.Fence, FreeAt: nanos(r.FreeAt), Waited: r.Waited, Orphan: r.Orphan, Aged: r.Aged,
	}
	if saved.Keys = PackKeys(r.keys); r.Granted {
		saved.Keys = PackKeys(c.claims.keysOf(r))
	}
	for _, amount := range r.Pools {
		saved.Pools = append(saved.Pools, savedAmount{amount.Pool, amount.N})
	}
	for _, object := range r.Objects {
		saved.Objects = append(saved.Objects, savedObject(object))
	}
	if r.Reserving {
		saved.Reserve = &savedReserve{Names: r.Reserves, Since: nanos(r.ReservedSince), Rounds: r.Rounds}
	}
	return saved
}

// Restore is the inverse of [Core.Snapshot].
func Restore(s Snapshot) (*Core, error) {
	c := empty()
	c.seq, c.next = s.Seq, s.Next
	for _, saved := range s.Pools {
		p := c.pools.resource(saved.Name, true)
		p.declared, p.declaredAt = saved.Declared, timeOf(saved.DeclaredAt)
		c.pools.setOperator(p, saved.Operator)
	}
	c.outcomes.restore(s.Outcomes)
	c.past.restore(s.Past)
	c.results.restore(s.Results)
	var all []*request
	for i := range s.Holders {
		saved := &s.Holders[i]
		id := contract.AdmissionHolder{WorkflowID: saved.ID, FirstRunID: saved.Run}
		for j := range saved.Requests {
			r, err := saved.Requests[j].restore(id)
			if err != nil {
				return nil, fmt.Errorf("request %s of %s: %w", r.ID, saved.ID, err)
			}
			c.add(r)
			all = append(all, r)
		}
		if h := c.holders[id]; h != nil {
			h.grace, h.budget = saved.Grace, saved.Budget
		}
	}
	slices.SortFunc(all, bySeq)
	for _, r := range all {
		c.place(r)
	}
	for _, name := range sortedKeys(s.Had) {
		l := c.lanes.lane(name)
		for _, jobType := range sortedKeys(s.Had[name]) {
			c.lanes.hadTurn(l, jobType, s.Had[name][jobType], c.hasRoom)
		}
	}
	for _, marked := range sortedKeys(s.Passes) {
		if p := c.pools.byName[marked]; p != nil {
			p.passes = slices.Clone(s.Passes[marked])
			c.pools.weight += passWeight * len(p.passes)
		}
	}
	if s.Recovering {
		c.recovery = newRecovery(time.Time{})
		c.recovery.Until = timeOf(s.Until)
		for _, pool := range s.Resized {
			c.recovery.resized[pool] = true
		}
	}
	return c, nil
}

func (s *savedRequest) restore(holder contract.AdmissionHolder) (*request, error) {
	r := &request{
		AdmissionItem: contract.AdmissionItem{
			ID: s.ID, Lane: s.Lane, Distinct: s.Distinct, Priority: s.Priority, Fences: s.Fences, For: s.For, Start: s.Start, Budget: s.Budget,
		},
		Holder: holder, JobType: s.JobType, Seq: s.Seq, Since: timeOf(s.Since), Granted: s.Granted, Fence: s.Fence, FreeAt: timeOf(s.FreeAt), Waited: s.Waited, Orphan: s.Orphan,
	}
	for _, amount := range s.Pools {
		r.Pools = append(r.Pools, contract.AdmissionAmount{Pool: amount.Pool, N: amount.N})
	}
	for _, object := range s.Objects {
		r.Objects = append(r.Objects, contract.AdmissionObject(object))
	}
	r.Aged = s.Aged
	if s.Reserve != nil {
		r.Reserving, r.Reserves, r.ReservedSince, r.Rounds = true, s.Reserve.Names, timeOf(s.Reserve.Since), s.Reserve.Rounds
	}
	keys, err := UnpackKeys(s.Keys)
	r.keys = keys
	return r, err
}

func (c *Core) place(r *request) {
	switch {
	case r.Lane != "" && r.Granted:
		c.lanes.lane(r.Lane).holder = r
	case r.Lane != "":
		c.lanes.lane(r.Lane).enqueue(r)
		c.lanes.open[r.Lane] = true
	case r.Granted && r.wantsResources():
		c.pools.take(r)
	case r.wantsResources():
		c.pools.wait(r)
	case r.Granted:
		for _, key := range r.keys {
			c.claims.take(key, r)
		}
	default:
		c.claims.asked += len(r.keys)
	}
}
