package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

var errFleetFull = fmt.Errorf("the registry holds %d workers, which is its limit; remove OFFLINE ones with `roundsman workers cleanup --offline`", contract.MaxWorkers)

// maxInstanceLength bounds what enters the names of queues.
const maxInstanceLength = 64

// checkRegistration returns every fault of a registration.
func checkRegistration(in contract.WorkerRegistration) error {
	var faults []error
	if err := jobtype.ValidateName(in.ID); err != nil {
		faults = append(faults, fmt.Errorf("worker id: %w", err))
	}
	if in.Instance == "" || len(in.Instance) > maxInstanceLength || strings.ContainsAny(in.Instance, "/'\" ") {
		faults = append(faults, fmt.Errorf("instance %q must have 1 to %d characters and none of / ' \" or space: it enters the queue's name", in.Instance, maxInstanceLength))
	}
	if in.MaxDetect < 0 || in.MaxExecute < 0 {
		faults = append(faults, errors.New("max_detect and max_execute must not be negative"))
	}
	for _, c := range in.Capabilities {
		if err := jobtype.ValidateName(c.Handler); err != nil {
			faults = append(faults, fmt.Errorf("handler: %w", err))
		}
	}
	if data, err := json.Marshal(in); err != nil {
		faults = append(faults, err)
	} else if len(data) > contract.MaxRegistrationBytes {
		faults = append(faults, fmt.Errorf("the registration has %d bytes, at most %d are allowed: shorten labels or descriptors", len(data), contract.MaxRegistrationBytes))
	}
	return errors.Join(faults...)
}

func digestOf(v any) (digest uint64, size int, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, 0, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	return sum.Sum64(), len(data), nil
}

// Payloads from compressedFrom on are compressed. A view is a list of workers that
// are much alike and shrinks at least to a compressedTo-th.
const (
	compressedFrom = 16 << 10
	compressedTo   = 4
)

// viewDigest identifies what a view says, whatever its number is, and estimates how
// many bytes it is sent in.
func viewDigest(view contract.FleetView) (digest uint64, size int) {
	digest, size, err := digestOf(view.Workers)
	if err != nil {
		return 0, 0
	}
	if size >= compressedFrom {
		size /= compressedTo
	}
	return max(digest, 1), size
}

// view is what a watcher sees of the fleet.
func (f *fleetRun) view(filter contract.WatchFleetInput) contract.FleetView {
	view := contract.FleetView{Seq: f.core.Seq(), Workers: []contract.WorkerView{}}
	for _, status := range f.core.View() {
		if w, ok := workerView(status, f.registrations[status.ID], filter); ok {
			view.Workers = append(view.Workers, w)
		}
	}
	return view
}

func workerView(s fleet.Status, r contract.WorkerRegistration, filter contract.WatchFleetInput) (contract.WorkerView, bool) {
	v := contract.WorkerView{
		ID: s.ID, Instance: s.Instance, State: contract.WorkerState(s.State), Fresh: s.Fresh, Leaving: s.Leaving,
		Beat: s.Beat, Fenced: s.Fenced, Labels: r.Labels, JobTypes: r.JobTypes,
		MaxDetect: r.Caps().MaxDetect, MaxExecute: r.Caps().MaxExecute,
	}
	for _, c := range r.Capabilities {
		if filter.Handler == "" || c.Handler == filter.Handler {
			c.Descriptor = nil
			v.Capabilities = append(v.Capabilities, c)
		}
	}
	for _, jobType := range r.Shared {
		if filter.JobType == "" || jobType == filter.JobType {
			v.Shared = append(v.Shared, jobType)
		}
	}
	capable := filter.Handler == "" || len(v.Capabilities) > 0
	allowed := filter.JobType == "" || len(r.JobTypes) == 0 || slices.Contains(r.JobTypes, filter.JobType)
	return v, capable && allowed
}

// detail is what operators see of one worker; full adds what is too much for a
// list.
func (f *fleetRun) detail(s fleet.Status, full bool) contract.WorkerDetail {
	registration := f.registrations[s.ID]
	if !full {
		registration.Capabilities = withoutDescriptors(registration.Capabilities)
	}
	d := contract.WorkerDetail{
		Registration: registration, State: contract.WorkerState(s.State), Mode: string(s.Mode), Fresh: s.Fresh, Leaving: s.Leaving,
		RegisteredAt: s.RegisteredAt, Since: s.Since, Cause: wireTransition(s.Cause), Kept: wireTransition(s.Kept), LastBeat: s.LastBeat, Skew: jobtype.Duration(s.Skew),
	}
	if full {
		for _, t := range s.Transitions {
			d.Transitions = append(d.Transitions, wireTransition(t))
		}
	}
	return d
}

func wireTransition(t fleet.Transition) contract.WorkerTransition {
	return contract.WorkerTransition{At: t.At, From: contract.WorkerState(t.From), To: contract.WorkerState(t.To), Reason: t.Reason, By: t.By}
}

func withoutDescriptors(capabilities []contract.Capability) []contract.Capability {
	bare := slices.Clone(capabilities)
	for i := range bare {
		bare[i].Descriptor = nil
	}
	return bare
}

func refused(h fleet.Holder) *contract.RegisteredOther {
	return &contract.RegisteredOther{
		Host: h.Host, PID: h.PID, Instance: h.Instance, Age: jobtype.Duration(h.Age), SinceBeat: jobtype.Duration(h.SinceBeat),
	}
}

func coreConfig(c contract.FleetConfig) fleet.Config {
	c = c.WithDefaults()
	return fleet.Config{
		Interval: c.HeartbeatInterval.Std(), Unreachable: c.UnreachableAfter.Std(), Offline: c.OfflineAfter.Std(), Delete: c.DeleteAfter.Std(),
	}
}

func wireConfig(c fleet.Config) contract.FleetConfig {
	return contract.FleetConfig{
		HeartbeatInterval: jobtype.Duration(c.Interval), UnreachableAfter: jobtype.Duration(c.Unreachable),
		OfflineAfter: jobtype.Duration(c.Offline), DeleteAfter: jobtype.Duration(c.Delete),
	}
}

// faultOf is what operators read when nobody observes.
func faultOf(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Message()
	}
	return err.Error()
}
