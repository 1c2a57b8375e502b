package steps

import "slices"

// agree reports whether all replicas hold the same objects, because shards are made from one of them and the
// others are deleted. Files of equal sizes agree. Otherwise the indexes decide: a server may leave out the
// content type of an object that it passes on, so replicas with the same objects can differ in size.
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

// same reports whether the replicas have the same sizes, or the sizes of [Encode.Agreed].
func (e *Encode) same(replicas []string, seen View) bool {
	first := seen.Replicas[replicas[0]]
	equal := !slices.ContainsFunc(replicas, func(server string) bool { return !seen.Replicas[server].equals(first) })
	return equal || !slices.ContainsFunc(replicas, func(server string) bool { return !e.agreed(server, seen) })
}

func (e *Encode) agreed(server string, seen View) bool {
	sizes, ok := e.Agreed[server]
	return ok && sizes == seen.Replicas[server].sizes()
}

// origin returns the replica that the shards of a volume of made bytes come from, or "".
func (e *Encode) origin(replicas []string, made uint64, seen View) string {
	at := slices.IndexFunc(replicas, func(server string) bool { return made > 0 && seen.Replicas[server].Dat == made })
	if at < 0 {
		return ""
	}
	return replicas[at]
}

// held reports whether shards of a volume of made bytes have the objects of a replica: they were made from it,
// or from one that agreed with it.
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
