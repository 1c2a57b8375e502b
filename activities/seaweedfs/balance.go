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

//go:embed balance.schema.json
var balanceSchema []byte

func balanceKind() kind {
	return kind{
		name:   "volume_balance",
		help:   "Moves volumes of a SeaweedFS cluster from the fullest to the emptiest servers, by slots, within the limits of the replica placement.",
		schema: balanceSchema, batches: true, policy: volumePolicy(2*time.Minute, 100, 15*time.Second), interval: 30 * time.Minute,
		fresh: func() settings {
			return &balanceSettings{ImbalanceThreshold: 0.2, MinServerCount: 2, MaxConcurrentMoves: 5}
		},
		together: func(s settings) int {
			if b, ok := s.(*balanceSettings); ok {
				return b.MaxConcurrentMoves
			}
			return 1
		},
	}
}

type balanceSettings struct {
	filters
	ImbalanceThreshold float64 `json:"imbalance_threshold"`
	MinServerCount     int     `json:"min_server_count"`
	IOBytePerSecond    int64   `json:"io_byte_per_second"`
	MaxConcurrentMoves int     `json:"max_concurrent_moves"`
	Target             *target `json:"target"`

	notes map[uint32]plan.Note
}

func (s *balanceSettings) validate() error {
	var faults []error
	if _, err := s.filter(); err != nil {
		faults = append(faults, fmt.Errorf("params.%w", err))
	}
	return errors.Join(append(faults,
		inRange("imbalance_threshold", s.ImbalanceThreshold, 0, 1), inRange("min_server_count", float64(s.MinServerCount), 2, 10_000),
		inRange("io_byte_per_second", float64(s.IOBytePerSecond), 0, 1<<50), inRange("max_concurrent_moves", float64(s.MaxConcurrentMoves), 1, 50),
	)...)
}

func (s *balanceSettings) plan(limit int) plan.BalanceSettings {
	filter, _ := s.filter() // validated
	return plan.BalanceSettings{Filter: filter, Threshold: s.ImbalanceThreshold, MinServers: s.MinServerCount, Limit: limit}
}

func (s *balanceSettings) readNotes(notes map[uint32]plan.Note) { s.notes = notes }

func (s *balanceSettings) left(t plan.Topology, _ time.Time) []plan.Left {
	return plan.WhyNoMove(t, s.plan(0))
}

func (s *balanceSettings) propose(t plan.Topology, in jobtype.DetectInput, _ time.Time) []jobtype.Proposal {
	wanted := s.plan(in.MaxResults)
	var proposals []jobtype.Proposal
	for _, m := range plan.HalfMoved(t, wanted.Filter, in.MaxResults) {
		summary := fmt.Sprintf("volume %d: complete its move from %s to %s, which has no job", m.Volume, m.Source, m.Target)
		work := target{Volume: m.Volume, Collection: m.Collection, Source: m.Source, Target: m.Target, DiskType: m.DiskType, Repair: true}
		proposals = append(proposals, proposal("volume_balance", summary, work, copyTime(m.Size, s.IOBytePerSecond), jobtype.PriorityHigh))
	}
	for _, m := range plan.Noted(t, wanted.Filter, s.notes, in.MaxResults) {
		summary := fmt.Sprintf("volume %d: make it writable again on %s, where an unfinished move to %s left it read-only", m.Volume, m.Source, m.Target)
		work := target{Volume: m.Volume, Collection: m.Collection, Source: m.Source, Target: m.Target, Repair: true, Noted: true}
		proposals = append(proposals, proposal("volume_balance", summary, work, time.Minute, jobtype.PriorityHigh))
	}
	for _, m := range plan.Moves(t, wanted) {
		summary := fmt.Sprintf("volume %d: %s to %s", m.Volume, m.Source, m.Target)
		work := target{Volume: m.Volume, Collection: m.Collection, Source: m.Source, Target: m.Target, DiskType: m.DiskType}
		proposals = append(proposals, proposal("volume_balance", summary, work, copyTime(m.Size, s.IOBytePerSecond), jobtype.PriorityNormal))
	}
	return proposals
}

// copyTime estimates a copy at 20 MiB/s, or at the limit. The estimate can only raise a job's time limit.
func copyTime(size uint64, limit int64) time.Duration {
	rate := uint64(20 << 20)
	if limit > 0 {
		rate = min(rate, uint64(limit)) //nolint:gosec // positive
	}
	return time.Minute + time.Duration(size/rate)*time.Second //nolint:gosec // sizes of disks
}

func (s *balanceSettings) work(t plan.Topology) (steps.Job, uint32, error) {
	if s.Target == nil {
		return nil, 0, errNoTarget
	}
	replicas, _, volume := t.Find(s.Target.Volume)
	move := &steps.Move{
		Volume: s.Target.Volume, Collection: s.Target.Collection, Source: s.Target.Source, Target: s.Target.Target,
		Copies: plan.Copies(volume.Placement), DiskType: s.Target.DiskType, IOLimit: s.IOBytePerSecond,
		Repair: s.Target.Repair, Noted: s.Target.Noted,
	}
	for _, replica := range replicas {
		if replica != move.Source && replica != move.Target {
			move.Others = append(move.Others, replica)
		}
	}
	if len(replicas) == 0 {
		return nil, 0, fmt.Errorf("VOLUME_GONE: volume %d is on no server that the master knows", move.Volume)
	}
	return move, move.Volume, nil
}
