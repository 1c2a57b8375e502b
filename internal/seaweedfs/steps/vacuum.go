package steps

import (
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Vacuum frees the space of deleted objects on all replicas of a volume:
//
//	check each → compact each → commit each → mark writable → done
//
// A failing check changes nothing. A failing compaction or commit ends the job, and the compacted files are
// cleaned up everywhere. A replica without a commit keeps its garbage for the next job.
//
// volume.fix.replication keeps the replica that was compacted most often. So a replica that may be out of date
// is not compacted (S7): a read-only one next to a writable one, and read-only ones that differ.
type Vacuum struct {
	Volume     uint32   `json:"volume"`
	Collection string   `json:"collection,omitempty"`
	Servers    []string `json:"servers"`
	Threshold  float64  `json:"threshold"`

	// Writable are the replicas that were writable before this job.
	Writable []string `json:"writable,omitempty"`
	Seen     bool     `json:"seen,omitempty"`
	// Compacting: a compaction may have begun and left files.
	Compacting bool `json:"compacting,omitempty"`

	// The rest belongs to one attempt.
	begun   bool
	garbage float64
	todo    []string
	phase   vacuumPhase
	// revision is the revision of the replica before the last call.
	revision uint32
	at       int
	failure  *End
}

type vacuumPhase uint8

const (
	sweepBefore vacuumPhase = iota
	check
	compact
	sweepAfter
	commit
	writable
	vacuumed
)

// Looks implements [Job].
func (v *Vacuum) Looks() []Look {
	return lists.Map(v.Servers, func(server string) Look { return Look{Server: server} })
}

// Decide implements [Job].
func (v *Vacuum) Decide(seen View) Step {
	if !v.begun {
		if end := v.begin(seen); end != nil {
			return ended(end)
		}
	}
	if v.failure == nil && v.phase <= commit {
		v.see(seen)
	}
	for v.phase != vacuumed {
		if step, ok := v.next(seen); ok {
			return step
		}
		v.phase, v.at = v.after(), 0
	}
	end := done(Vacuumed)
	if v.failure != nil {
		end = v.failure
	} else if len(v.todo) == 0 {
		end = done(NoGarbage)
	}
	for _, server := range v.Writable {
		if replica := seen.Replicas[server]; replica.Presence == Present && replica.ReadOnly {
			end.leaves(LeftReadOnly, server)
		}
	}
	return ended(end)
}

func (v *Vacuum) begin(seen View) *End {
	for _, server := range v.Servers {
		switch replica := seen.Replicas[server]; {
		case replica.Presence == Unknown:
			return v.unread(server, replica.Why, seen)
		case replica.Presence == Absent:
			return v.unread(server, "", seen).final()
		case !v.Seen && !replica.ReadOnly:
			v.Writable = append(v.Writable, server)
		}
	}
	v.Seen, v.begun = true, true
	if len(v.Writable) == 0 && len(v.Servers) > 1 {
		first := seen.Replicas[v.Servers[0]]
		for _, server := range v.Servers[1:] {
			if !seen.Replicas[server].equals(first) {
				return failed(ReplicasDiffer).at(server, v.Servers[0]).final()
			}
		}
	}
	if !v.Compacting {
		v.phase = check
	}
	return nil
}

// A replica that cannot be read, or a commit without an effect, ends the work on all: revisions would differ.
func (v *Vacuum) see(seen View) {
	for _, server := range v.Servers {
		if replica := seen.Replicas[server]; replica.Presence != Present {
			v.undo(failed(CannotRead).at(server, replica.Why))
			return
		}
	}
	if v.phase == commit && v.at > 0 && seen.Replicas[v.todo[v.at-1]].Revision == v.revision {
		v.undo(failed(CallFailed).at(v.todo[v.at-1], "the commit had no effect"))
	}
}

func (v *Vacuum) undo(end *End) {
	v.failure, v.phase, v.at = end, writable, 0
	if v.Compacting {
		v.phase = sweepAfter
	}
}

func (v *Vacuum) unread(server, why string, seen View) *End {
	end := failed(CannotRead).at(server, why)
	if why == "" {
		end = failed(VolumeGone).at(server, "")
	}
	for _, name := range v.Writable {
		if seen.Replicas[name].ReadOnly {
			end.leaves(LeftReadOnly, name)
		}
	}
	return end
}

func (v *Vacuum) next(seen View) (Step, bool) {
	servers, op := v.Servers, Check
	switch v.phase {
	case sweepBefore, sweepAfter:
		op = Cleanup
	case compact:
		servers, op = v.todo, Compact
	case commit:
		servers, op = v.todo, Commit
	case writable:
		servers, op = v.Writable, MarkWritable
	case check, vacuumed:
	}
	for ; v.at < len(servers); v.at++ {
		server := servers[v.at]
		if op == MarkWritable && !seen.Replicas[server].ReadOnly {
			continue
		}
		if op == Check && len(v.Writable) > 0 && !slices.Contains(v.Writable, server) {
			continue
		}
		if op == Compact {
			v.Compacting = true
		}
		v.revision = seen.Replicas[server].Revision
		step := call(Call{Op: op, Server: server, Volume: v.Volume, Collection: v.Collection})
		step.Calm = v.phase <= compact && v.at == 0
		return step, true
	}
	return Step{}, false
}

func (v *Vacuum) after() vacuumPhase {
	switch v.phase {
	case sweepBefore:
		return check
	case check:
		if v.failure == nil && len(v.todo) > 0 {
			return compact
		}
		return writable
	case compact:
		if v.failure != nil {
			return sweepAfter
		}
		return commit
	case commit:
		if v.failure != nil {
			return sweepAfter
		}
		return writable
	case sweepAfter:
		return writable
	case writable, vacuumed:
	}
	return vacuumed
}

// Took implements [Job].
func (v *Vacuum) Took(c Call, answer Answer) {
	v.at++
	if answer.Err != "" {
		if v.failure == nil && c.Op != Cleanup && c.Op != MarkWritable {
			v.failure, v.at = failed(CallFailed).at(c.Server, answer.Err), len(v.Servers)
		}
		return
	}
	switch c.Op {
	case Check:
		v.garbage = max(v.garbage, answer.Garbage)
		if answer.Garbage >= v.Threshold {
			v.todo = append(v.todo, c.Server)
		}
	case Commit:
		// The server itself keeps the volume read-only after this commit.
		if answer.ReadOnly {
			v.Writable = slices.DeleteFunc(v.Writable, func(s string) bool { return s == c.Server })
		}
	case Compact, Cleanup, MarkReadOnly, MarkWritable, Copy, Tail, Delete, EcGenerate, EcCopy, EcMount, EcUnmount, EcDelete:
	}
}

// Garbage is the largest share of garbage that a check reported.
func (v *Vacuum) Garbage() float64 { return v.garbage }
