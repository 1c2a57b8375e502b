package steps

import "slices"

// agree: all replicas hold the same objects, because shards are made from one and the others are deleted. Files of
// equal sizes agree. Otherwise the indexes decide: a server may omit the content type of an object that it passes on.
func (e *Encode) agree(replicas []string, seen View) (Step, bool) {
	if e.same(replicas, seen) {
		e.comparing = nil
		return Step{}, true
	}
	if !slices.Equal(e.comparing, replicas) {
		e.comparing = slices.Clone(replicas)
		return Step{Again: true}, false
	}
	e.comparing = nil
	first := seen.Indexes[replicas[0]]
	agreed := map[string]Sizes{}
	for _, server := range replicas {
		switch index := seen.Indexes[server]; {
		case index.Presence != Present:
			return e.giveUp(failed(CannotRead).at(server, index.Why), replicas, seen), false
		case index.Live != first.Live || index.Digest != first.Digest:
			return e.giveUp(failed(ReplicasDiffer).at(server, replicas[0]).final(), replicas, seen), false
		}
		agreed[server] = seen.Replicas[server].sizes()
	}
	e.Agreed = agreed
	return Step{}, true
}

func (e *Encode) same(replicas []string, seen View) bool {
	first := seen.Replicas[replicas[0]]
	equal := !slices.ContainsFunc(replicas, func(server string) bool { return !seen.Replicas[server].equals(first) })
	return equal || !slices.ContainsFunc(replicas, func(server string) bool { return !e.agreed(server, seen) })
}

func (e *Encode) agreed(server string, seen View) bool {
	sizes, ok := e.Agreed[server]
	return ok && sizes == seen.Replicas[server].sizes()
}

func (e *Encode) origin(replicas []string, made uint64, seen View) string {
	at := slices.IndexFunc(replicas, func(server string) bool { return made > 0 && seen.Replicas[server].Dat == made })
	if at < 0 {
		return ""
	}
	return replicas[at]
}

// The shards were made from this replica, or from one that agreed with it.
func (e *Encode) held(server string, made uint64, seen View) bool {
	if made == 0 || seen.Replicas[server].Dat == made {
		return made > 0
	}
	for _, sizes := range e.Agreed {
		if sizes.Dat == made {
			return e.agreed(server, seen)
		}
	}
	return false
}
