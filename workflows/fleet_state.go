package workflows

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

// maxFleetState bounds what is unpacked, as a guard against a corrupt input.
const maxFleetState = 64 << 20

// maxCarryBytes bounds the state that travels by continue-as-new: the server
// refuses inputs over 2 MiB.
const maxCarryBytes = 1536 << 10

// descriptorPool keeps one copy of each descriptor: a fleet runs few different
// binaries.
type descriptorPool struct {
	byDigest map[uint64]*jobtype.Descriptor
}

// share returns the registration with the pool's descriptors.
func (p *descriptorPool) share(in contract.WorkerRegistration) contract.WorkerRegistration {
	if p.byDigest == nil {
		p.byDigest = map[uint64]*jobtype.Descriptor{}
	}
	in.Capabilities = slices.Clone(in.Capabilities)
	for i, c := range in.Capabilities {
		if c.Descriptor == nil {
			continue
		}
		digest, _, err := digestOf(c.Descriptor)
		if err != nil {
			continue
		}
		if known := p.byDigest[digest]; known != nil {
			in.Capabilities[i].Descriptor = known
		} else {
			p.byDigest[digest] = c.Descriptor
		}
	}
	return in
}

// forgetRegistrations drops what belongs to workers that the core has forgotten,
// and the descriptors that only they had.
func (f *fleetRun) forgetRegistrations() {
	before := len(f.registrations)
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(f.registrations, func(id string, _ contract.WorkerRegistration) bool {
		_, known := f.core.Worker(id)
		return !known
	})
	if len(f.registrations) == before {
		return
	}
	used := map[*jobtype.Descriptor]bool{}
	//workflowcheck:ignore a set
	for _, r := range f.registrations {
		for _, c := range r.Capabilities {
			used[c.Descriptor] = true
		}
	}
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(f.descriptors.byDigest, func(_ uint64, d *jobtype.Descriptor) bool { return !used[d] })
}

// handlers lists the descriptors of all workers that are not deleted.
func (f *fleetRun) handlers() contract.HandlersQueryResult {
	result := contract.HandlersQueryResult{Handlers: []contract.FleetHandler{}}
	index := map[*jobtype.Descriptor]int{}
	for _, status := range f.core.View() {
		for _, c := range f.registrations[status.ID].Capabilities {
			if c.Descriptor == nil {
				continue
			}
			at, known := index[c.Descriptor]
			if !known {
				at = len(result.Handlers)
				index[c.Descriptor] = at
				result.Handlers = append(result.Handlers, contract.FleetHandler{Descriptor: *c.Descriptor})
			}
			result.Handlers[at].Workers++
		}
	}
	slices.SortStableFunc(result.Handlers, func(a, b contract.FleetHandler) int {
		return bytes.Compare([]byte(a.Descriptor.Name), []byte(b.Descriptor.Name))
	})
	return result
}

// pack writes the state for the next run. If it is too big, the oldest
// transitions stay behind.
func (f *fleetRun) pack() ([]byte, error) {
	for keep := fleet.MaxTransitions; ; keep /= 2 {
		state, err := f.state(keep)
		if err != nil {
			return nil, err
		}
		packed, err := zip(state)
		if err != nil || len(packed) <= maxCarryBytes/4*3 || keep <= 1 {
			// Bytes inside a JSON document grow by a third.
			return packed, err
		}
		workflow.GetLogger(f.ctx).Warn("The registry is large: only the newest transitions are kept.", "bytes", len(packed), "keep", keep/2)
	}
}

func (f *fleetRun) state(keep int) (contract.FleetState, error) {
	core, err := json.Marshal(f.core.Snapshot(keep))
	if err != nil {
		return contract.FleetState{}, err
	}
	state := contract.FleetState{Core: core, Observer: f.fault}
	index := map[*jobtype.Descriptor]int{}
	for _, id := range slices.Sorted(maps.Keys(f.registrations)) {
		stored := contract.FleetStateWorker{Registration: f.registrations[id]}
		for _, c := range stored.Registration.Capabilities {
			if c.Descriptor != nil && index[c.Descriptor] == 0 {
				state.Descriptors = append(state.Descriptors, *c.Descriptor)
				index[c.Descriptor] = len(state.Descriptors)
			}
			stored.Descriptors = append(stored.Descriptors, index[c.Descriptor])
		}
		stored.Registration.Capabilities = withoutDescriptors(stored.Registration.Capabilities)
		state.Workers = append(state.Workers, stored)
	}
	for _, id := range f.order() {
		state.Watchers = append(state.Watchers, f.watchers[id].carried())
	}
	return state, nil
}

// restore begins with the state of the run before, or with nothing.
func (f *fleetRun) restore(config fleet.Config, packed []byte) error {
	if len(packed) == 0 {
		f.core = fleet.New(config, workflow.Now(f.ctx))
		return nil
	}
	state, snapshot, err := unzip(packed)
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the registry cannot go on after continue-as-new", "BadState", err)
	}
	f.core, f.fault = fleet.Restore(config, snapshot), state.Observer
	for _, stored := range state.Workers {
		r := stored.Registration
		for i := range r.Capabilities {
			if at := stored.Descriptors[i]; at > 0 {
				r.Capabilities[i].Descriptor = &state.Descriptors[at-1]
			}
		}
		f.registrations[r.ID] = f.descriptors.share(r)
	}
	for _, stored := range state.Watchers {
		f.watchers[stored.Watch.WorkflowID] = &watcher{FleetStateWatcher: stored}
	}
	return nil
}

func zip(state contract.FleetState) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	writer.ModTime = time.Time{}
	if err := json.NewEncoder(writer).Encode(state); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func unzip(packed []byte) (contract.FleetState, fleet.Snapshot, error) {
	var state contract.FleetState
	var snapshot fleet.Snapshot
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return state, snapshot, fmt.Errorf("unpack the state: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(reader, maxFleetState)).Decode(&state); err != nil {
		return state, snapshot, fmt.Errorf("read the state: %w", err)
	}
	if err := json.Unmarshal(state.Core, &snapshot); err != nil {
		return state, snapshot, fmt.Errorf("read the core's state: %w", err)
	}
	for i, w := range state.Workers {
		if len(w.Descriptors) != len(w.Registration.Capabilities) {
			return state, snapshot, fmt.Errorf("worker %s: %d descriptors for %d capabilities", w.Registration.ID, len(w.Descriptors), len(state.Workers[i].Registration.Capabilities))
		}
	}
	return state, snapshot, nil
}
