package steps

// MoveShard brings one shard of an erasure-coded volume from Source to Target:
//
//	copy → mount on the target → see it there → unmount and delete on the source
//
// With Duplicate the target has it already, and only the source's is removed.
type MoveShard struct {
	Volume     uint32 `json:"volume"`
	Collection string `json:"collection,omitempty"`
	Shard      uint32 `json:"shard"`
	Source     string `json:"source"`
	Target     string `json:"target"`
	Disk       uint32 `json:"disk,omitempty"`
	Duplicate  bool   `json:"duplicate,omitempty"`
	IOLimit    int64  `json:"io_limit,omitempty"`

	// Files of the shard may be on the target, or unmounted on the source.
	Copying    bool `json:"copying,omitempty"`
	Unmounting bool `json:"unmounting,omitempty"`

	earlier  bool
	tries    map[Op]int
	copied   bool
	purged   map[string]bool
	lastFail Answer
	failure  *End
}

// Looks implements [Job].
func (s *MoveShard) Looks() []Look {
	return []Look{{Server: s.Source, Shards: true}, {Server: s.Target, Shards: true}}
}

// Decide implements [Job].
func (s *MoveShard) Decide(seen View) Step {
	source, target := seen.Shards[s.Source], seen.Shards[s.Target]
	for _, server := range []string{s.Source, s.Target} {
		if seen.Shards[server].Presence == Unknown {
			return ended(s.leave(failed(CannotRead).at(server, seen.Shards[server].Why), source, target))
		}
	}
	here, there := source.has(s.Shard), target.has(s.Shard)
	switch {
	case here && there:
		return s.both(source, target)
	case there:
		return s.arrived()
	case here && s.Duplicate:
		return ended(done(Stale))
	case here:
		return s.alone(source, target)
	}
	return s.neither(source)
}

// alone decides while only the source has the shard.
func (s *MoveShard) alone(source, target Shards) Step {
	if s.failure == nil && (s.tries[EcCopy] >= maxTries || s.tries[EcMount] >= maxTries) {
		s.failure = failed(CallFailed).at(s.Target, s.lastFail.Err)
	}
	if s.failure != nil {
		// Files that were copied and not mounted have no owner.
		if s.Copying && !s.purged[s.Target] && s.tries[EcDelete] < maxTries {
			return s.call(Call{Op: EcDelete, Server: s.Target})
		}
		return ended(s.leave(s.failure, source, target))
	}
	if s.copied {
		return s.call(Call{Op: EcMount, Server: s.Target})
	}
	s.Copying = true
	return calmly(s.call(Call{Op: EcCopy, Server: s.Target, Source: s.Source, Disk: s.Disk, IOLimit: s.IOLimit}))
}

// both decides while source and target have it. S2: the target's must be as large and of the same volume.
func (s *MoveShard) both(source, target Shards) Step {
	if target.Sizes[s.Shard] != source.Sizes[s.Shard] || !target.sameRun(source) {
		return ended(failed(ShardsDiffer).at(s.Target, "").final().leaves(LeftShards, s.Target))
	}
	if s.tries[EcUnmount] >= maxTries {
		return ended(failed(CallFailed).at(s.Source, s.lastFail.Err).leaves(LeftShards, s.Source))
	}
	s.Unmounting = true
	return s.call(Call{Op: EcUnmount, Server: s.Source})
}

func (s *MoveShard) arrived() Step {
	end := done(ShardMoved)
	if s.Duplicate {
		end = done(ShardPurged)
	}
	if s.purged[s.Source] {
		return ended(end)
	}
	if s.tries[EcDelete] >= maxTries {
		return ended(failed(CallFailed).at(s.Source, s.lastFail.Err).leaves(LeftShards, s.Source))
	}
	return s.call(Call{Op: EcDelete, Server: s.Source})
}

// neither decides while no server has it mounted: the source's files may still be there.
func (s *MoveShard) neither(source Shards) Step {
	if s.tries[EcMount] < maxTries && (s.Unmounting || source.Presence == Present) {
		return s.call(Call{Op: EcMount, Server: s.Source})
	}
	return ended(failed(VolumeGone).at(s.Source, s.lastFail.Err).final())
}

// Stop ends the job before the copy. The move of a copied shard is completed.
func (s *MoveShard) Stop(cause string) {
	if s.failure == nil {
		s.failure = failed(Stopped).at("", cause)
	}
}

func (s *MoveShard) call(c Call) Step {
	c.Volume, c.Collection, c.Shards = s.Volume, s.Collection, []uint32{s.Shard}
	return call(c)
}

func (s *MoveShard) leave(end *End, source, target Shards) *End {
	arrived := target.has(s.Shard) && source.Presence != Unknown && !source.has(s.Shard)
	if (s.Copying || s.earlier) && !s.purged[s.Target] && !arrived {
		end.leaves(LeftShards, s.Target)
	}
	if (s.Unmounting || s.earlier) && !s.purged[s.Source] && (target.has(s.Shard) || target.Presence == Unknown) {
		end.leaves(LeftShards, s.Source)
	}
	return end
}

// Took implements [Job].
func (s *MoveShard) Took(c Call, answer Answer) {
	if s.tries == nil {
		s.tries, s.purged = map[Op]int{}, map[string]bool{}
	}
	s.tries[c.Op]++
	if answer.Err != "" {
		s.lastFail = answer
		return
	}
	switch c.Op {
	case EcCopy:
		s.copied = true
	case EcDelete:
		s.purged[c.Server] = true
	case Check, Compact, Commit, Cleanup, MarkReadOnly, MarkWritable, Copy, Tail, Delete, EcGenerate, EcMount, EcUnmount:
	}
}
