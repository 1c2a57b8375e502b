package seaweedfs

import (
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

//go:embed ecbalance.schema.json
var ecBalanceSchema []byte

func ecBalanceKind() kind {
	return kind{
		name:   "ec_balance",
		help:   "Spreads the shards of erasure-coded volumes over racks and servers, and removes shards that are there twice.",
		schema: ecBalanceSchema, policy: volumePolicy(5*time.Minute, 500, 30*time.Second), interval: 30 * time.Minute,
		fresh: func() settings { return &ecBalanceSettings{ImbalanceThreshold: 0.2, MinServerCount: 3} },
	}
}

type ecBalanceSettings struct {
	CollectionFilter      string  `json:"collection_filter"`
	DataCenterFilter      string  `json:"data_center_filter"`
	DiskType              string  `json:"disk_type"`
	PreferredTags         string  `json:"preferred_tags"`
	ShardReplicaPlacement string  `json:"shard_replica_placement"`
	ImbalanceThreshold    float64 `json:"imbalance_threshold"`
	MinServerCount        int     `json:"min_server_count"`
	IOBytePerSecond       int64   `json:"io_byte_per_second"`
	Target                *target `json:"target"`
}

func (s *ecBalanceSettings) validate() error {
	var faults []error
	if _, err := plan.NewFilter(s.CollectionFilter, "", s.DataCenterFilter, "", ""); err != nil {
		faults = append(faults, fmt.Errorf("params.%w", err))
	}
	if _, err := plan.NewSpread(s.PreferredTags, s.ShardReplicaPlacement); err != nil {
		faults = append(faults, fmt.Errorf("params.shard_replica_placement: %w", err))
	}
	return errors.Join(append(faults,
		inRange("imbalance_threshold", s.ImbalanceThreshold, 0, 1), inRange("min_server_count", float64(s.MinServerCount), 2, 10_000),
		inRange("io_byte_per_second", float64(s.IOBytePerSecond), 0, 1<<50),
	)...)
}

func (s *ecBalanceSettings) plan(limit int) plan.ECBalanceSettings {
	filter, _ := plan.NewFilter(s.CollectionFilter, "", s.DataCenterFilter, "", "") // validated
	spread, _ := plan.NewSpread(s.PreferredTags, s.ShardReplicaPlacement)           // validated
	return plan.ECBalanceSettings{Filter: filter, Spread: spread, DiskType: s.DiskType, Threshold: s.ImbalanceThreshold, MinServers: s.MinServerCount, Limit: limit}
}

func (s *ecBalanceSettings) left(t plan.Topology, _ time.Time) []plan.Left {
	return plan.WhyNoShardMove(t, s.plan(0))
}

func (s *ecBalanceSettings) propose(t plan.Topology, in jobtype.DetectInput, _ time.Time) []jobtype.Proposal {
	priorities := map[plan.Phase]jobtype.Priority{plan.Dedup: jobtype.PriorityHigh, plan.CrossRack: jobtype.PriorityNormal}
	var proposals []jobtype.Proposal
	for _, m := range plan.ShardMoves(t, s.plan(in.MaxResults)) {
		priority, urgent := priorities[m.Phase]
		if !urgent {
			priority = jobtype.PriorityLow
		}
		summary := fmt.Sprintf("volume %d shard %d: %s to %s (%s)", m.Volume, m.Shard, m.Source, m.Target, m.Phase)
		work := target{Volume: m.Volume, Collection: m.Collection, Shard: m.Shard, Source: m.Source, Target: m.Target, Disk: m.Disk, Duplicate: m.Phase == plan.Dedup}
		proposals = append(proposals, proposal("ec_balance", summary, work, copyTime(uint64(m.Size), s.IOBytePerSecond), priority)) //nolint:gosec // a size
	}
	return proposals
}

func (s *ecBalanceSettings) work(plan.Topology) (steps.Job, uint32, error) {
	if s.Target == nil || s.Target.Source == s.Target.Target {
		return nil, 0, errNoTarget
	}
	return &steps.MoveShard{
		Volume: s.Target.Volume, Collection: s.Target.Collection, Shard: s.Target.Shard, Source: s.Target.Source, Target: s.Target.Target,
		Disk: s.Target.Disk, Duplicate: s.Target.Duplicate, IOLimit: s.IOBytePerSecond,
	}, s.Target.Volume, nil
}
