package seaweedfs

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

//go:embed encode.schema.json
var encodeSchema []byte

func encodeKind() kind {
	return kind{
		name:   "erasure_coding",
		help:   "Turns volumes of a SeaweedFS cluster that are full and quiet into 10+4 shards, on the servers: no data passes the worker.",
		schema: encodeSchema, policy: volumePolicy(5*time.Minute, 500, 30*time.Second), interval: 5 * time.Minute,
		fresh: func() settings { return &encodeSettings{QuietForSeconds: 3600, FullnessRatio: 0.95, MinSizeMB: 30} },
	}
}

type encodeSettings struct {
	CollectionFilter string  `json:"collection_filter"`
	QuietForSeconds  int64   `json:"quiet_for_seconds"`
	FullnessRatio    float64 `json:"fullness_ratio"`
	MinSizeMB        uint64  `json:"min_size_mb"`
	PreferredTags    string  `json:"preferred_tags"`
	ReplicaPlacement string  `json:"replica_placement"`
	Target           *target `json:"target"`
}

func (s *encodeSettings) validate() error {
	var faults []error
	if _, err := plan.NewFilter(s.CollectionFilter, "", "", "", ""); err != nil {
		faults = append(faults, fmt.Errorf("params.%w", err))
	}
	if _, err := plan.NewSpread(s.PreferredTags, s.ReplicaPlacement); err != nil {
		faults = append(faults, fmt.Errorf("params.replica_placement: %w", err))
	}
	return errors.Join(append(faults,
		inRange("quiet_for_seconds", float64(s.QuietForSeconds), 0, 1<<40), inRange("fullness_ratio", s.FullnessRatio, 0, 1.5),
		inRange("min_size_mb", float64(s.MinSizeMB), 1, 1<<30),
	)...)
}

func (s *encodeSettings) plan(limit int) plan.EncodeSettings {
	filter, _ := plan.NewFilter(s.CollectionFilter, "", "", "", "")  // validated
	spread, _ := plan.NewSpread(s.PreferredTags, s.ReplicaPlacement) // validated
	return plan.EncodeSettings{Filter: filter, Spread: spread, QuietSeconds: s.QuietForSeconds, Fullness: s.FullnessRatio, MinBytes: s.MinSizeMB << 20, Limit: limit}
}

func (s *encodeSettings) left(t plan.Topology, now time.Time) []plan.Left {
	return plan.WhyNoEncode(t, s.plan(0), now.Unix())
}

func (s *encodeSettings) propose(t plan.Topology, in jobtype.DetectInput, now time.Time) []jobtype.Proposal {
	var proposals []jobtype.Proposal
	for _, e := range plan.Encodes(t, s.plan(in.MaxResults), now.Unix()) {
		work := target{Volume: e.Volume, Collection: e.Collection, Replicas: e.Replicas, Finish: e.Finish, Again: e.Again}
		for _, place := range e.Targets {
			work.Targets = append(work.Targets, steps.Placement{Server: place.Server, Disk: place.Disk, Shards: place.Shards})
		}
		summary := fmt.Sprintf("volume %d: shards on %d disks", e.Volume, len(e.Targets))
		switch {
		case e.Finish:
			summary = fmt.Sprintf("volume %d: all shards are there, delete the replicas next to them", e.Volume)
		case e.Again:
			summary = fmt.Sprintf("volume %d: an encoding did not end, make all shards again, on %d disks", e.Volume, len(e.Targets))
		}
		estimate := time.Duration(e.Size/gigabyte+1) * 10 * time.Minute //nolint:gosec // sizes of disks
		proposals = append(proposals, proposal("erasure_coding", summary, work, estimate, jobtype.PriorityLow))
	}
	return proposals
}

// work keeps the servers of the detection: no topology shows the shard files next to a deleted replica.
func (s *encodeSettings) work(t plan.Topology) (steps.Job, uint32, error) {
	if s.Target == nil || len(s.Target.Targets) == 0 {
		return nil, 0, errNoTarget
	}
	replicas, holders, _ := t.Find(s.Target.Volume)
	for _, detected := range s.Target.Replicas {
		if !slices.Contains(replicas, detected) {
			replicas = append(replicas, detected)
		}
	}
	if s.Target.Again {
		holders = nil
		for _, server := range t.Servers {
			holders = append(holders, server.Address)
		}
	}
	return &steps.Encode{
		Volume: s.Target.Volume, Collection: s.Target.Collection, Replicas: replicas, Targets: s.Target.Targets, Holders: holders, Finish: s.Target.Finish,
	}, s.Target.Volume, nil
}
