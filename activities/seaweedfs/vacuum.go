package seaweedfs

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

//go:embed vacuum.schema.json
var vacuumSchema []byte

// filters are the settings that vacuum and volume_balance share.
type filters struct {
	CollectionFilter string     `json:"collection_filter"`
	VolumeState      plan.State `json:"volume_state"`
	DataCenterFilter string     `json:"data_center_filter"`
	RackFilter       string     `json:"rack_filter"`
	NodeFilter       string     `json:"node_filter"`
}

func (f filters) filter() (plan.Filter, error) {
	made, err := plan.NewFilter(f.CollectionFilter, f.VolumeState, f.DataCenterFilter, f.RackFilter, f.NodeFilter)
	if err == nil && !slices.Contains([]plan.State{"", plan.AllStates, plan.Active, plan.Full}, f.VolumeState) {
		err = fmt.Errorf("volume_state: %q is none of ALL, ACTIVE, FULL", f.VolumeState)
	}
	return made, err
}

type target struct {
	Volume     uint32            `json:"volume"`
	Collection string            `json:"collection,omitempty"`
	Source     string            `json:"source,omitempty"`
	Target     string            `json:"target,omitempty"`
	DiskType   string            `json:"disk_type,omitempty"`
	Shard      uint32            `json:"shard,omitempty"`
	Disk       uint32            `json:"disk,omitempty"`
	Duplicate  bool              `json:"duplicate,omitempty"`
	Targets    []steps.Placement `json:"targets,omitempty"`
	Replicas   []string          `json:"replicas,omitempty"`
	Finish     bool              `json:"finish,omitempty"`
	Again      bool              `json:"again,omitempty"`
	Repair     bool              `json:"repair,omitempty"`
	Noted      bool              `json:"noted,omitempty"`
}

var errNoTarget = jobtype.Permanent(errors.New("params.target is missing: these jobs are made by the detection"))

// proposal takes the volume as an object, so that no job of another kind works on it meanwhile.
func proposal(kind, summary string, t target, estimate time.Duration, priority jobtype.Priority) jobtype.Proposal {
	key := fmt.Sprintf("%s:%d", kind, t.Volume)
	if t.Collection != "" {
		key += ":" + t.Collection
	}
	params, err := json.Marshal(map[string]target{"target": t})
	if err != nil {
		return jobtype.Refused(key, err)
	}
	return jobtype.Proposal{
		DedupeKey: key, Summary: summary, Priority: priority, Params: params, Exclusive: []string{fmt.Sprintf("volume/%d", t.Volume)},
		EstimatedRuntime: jobtype.Duration(min(estimate, jobtype.MaxEstimatedRuntime.Std())),
	}
}

const gigabyte = 1 << 30

func vacuumKind() kind {
	return kind{
		name:   "vacuum",
		help:   "Gives the space of deleted objects back: compacts the volumes of a SeaweedFS cluster whose garbage is above a threshold, on all replicas.",
		schema: vacuumSchema, fresh: func() settings { return &vacuumSettings{GarbageThreshold: 0.3} },
		policy: volumePolicy(2*time.Minute, 200, 10*time.Second), interval: 2 * time.Hour,
	}
}

// volumePolicy has SeaweedFS's own limits. The process beats, because a compaction shows no progress.
func volumePolicy(detection time.Duration, jobs int, backoff time.Duration) jobtype.Policy {
	return jobtype.Policy{
		DetectionTimeout: jobtype.Duration(detection), ExecutionTimeout: jobtype.Duration(30 * time.Minute), MaxRuntime: jobtype.Duration(30 * time.Minute),
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 16, PerWorkerExecutionConcurrency: 4,
		RetryLimit: 1, RetryBackoff: jobtype.Duration(backoff), Liveness: jobtype.LivenessProcess,
		// A killed worker must be detected soon, because the volume may be read-only meanwhile.
		HeartbeatTimeout: jobtype.Duration(10 * time.Second), OnDisconnect: jobtype.DisconnectStop, StopAfter: jobtype.Duration(7 * time.Second),
	}
}

type vacuumSettings struct {
	filters
	GarbageThreshold    float64 `json:"garbage_threshold"`
	MinVolumeAgeSeconds int64   `json:"min_volume_age_seconds"`
	Target              *target `json:"target"`
}

func (s *vacuumSettings) validate() error {
	var faults []error
	if _, err := s.filter(); err != nil {
		faults = append(faults, fmt.Errorf("params.%w", err))
	}
	return errors.Join(append(faults, inRange("garbage_threshold", s.GarbageThreshold, 0, 1), inRange("min_volume_age_seconds", float64(s.MinVolumeAgeSeconds), 0, 1<<40))...)
}

func inRange(key string, value, least, most float64) error {
	if value >= least && value <= most {
		return nil
	}
	return fmt.Errorf("params.%s: %v is out of range: use %v to %v", key, value, least, most)
}

func (s *vacuumSettings) plan() plan.VacuumSettings {
	filter, _ := s.filter() // validated
	return plan.VacuumSettings{Filter: filter, Threshold: s.GarbageThreshold, MinAge: s.MinVolumeAgeSeconds}
}

func (s *vacuumSettings) left(t plan.Topology, _ time.Time) []plan.Left {
	return plan.WhyNoVacuum(t, s.plan())
}

func (s *vacuumSettings) propose(t plan.Topology, _ jobtype.DetectInput, now time.Time) []jobtype.Proposal {
	var proposals []jobtype.Proposal
	for _, v := range plan.Vacuums(t, s.plan(), now.Unix()) {
		priority := jobtype.PriorityNormal
		if v.Garbage > 0.6 {
			priority = jobtype.PriorityHigh
		}
		summary := fmt.Sprintf("volume %d: %.0f %% garbage on %d servers", v.Volume, 100*v.Garbage, len(v.Servers))
		estimate := time.Duration(v.Size/gigabyte+1) * 300 * time.Second //nolint:gosec // sizes of disks
		proposals = append(proposals, proposal("vacuum", summary, target{Volume: v.Volume, Collection: v.Collection}, estimate, priority))
	}
	return proposals
}

// work takes the current replicas, because some may have moved since the detection.
func (s *vacuumSettings) work(t plan.Topology) (steps.Job, uint32, error) {
	if s.Target == nil {
		return nil, 0, errNoTarget
	}
	replicas, _, _ := t.Find(s.Target.Volume)
	if len(replicas) == 0 {
		return nil, 0, fmt.Errorf("VOLUME_GONE: volume %d is on no server that the master knows", s.Target.Volume)
	}
	return &steps.Vacuum{Volume: s.Target.Volume, Collection: s.Target.Collection, Servers: replicas, Threshold: s.GarbageThreshold}, s.Target.Volume, nil
}
