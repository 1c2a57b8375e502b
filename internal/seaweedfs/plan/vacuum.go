package plan

import "slices"

// VacuumSettings choose the volumes to vacuum.
type VacuumSettings struct {
	Filter    Filter
	Threshold float64
	// MinAge is in seconds since the last change.
	MinAge int64
}

// Vacuum is a volume with garbage.
type Vacuum struct {
	Volume     uint32
	Collection string
	Servers    []string
	// Garbage is the largest share of a replica, Size the largest size.
	Garbage float64
	Size    uint64
}

// Vacuums lists the volumes with enough garbage in a replica. now is in seconds.
func Vacuums(t Topology, settings VacuumSettings, now int64) []Vacuum {
	var found []Vacuum
	for _, replicas := range t.volumes() {
		v := Vacuum{Volume: replicas[0].ID, Collection: replicas[0].Collection}
		due := false
		writable := slices.ContainsFunc(replicas, func(r placed) bool { return !r.ReadOnly })
		for _, r := range replicas {
			v.Servers = append(v.Servers, t.Servers[r.server].Address)
			if writable && r.ReadOnly {
				continue // it may be out of date, and is not compacted
			}
			v.Garbage, v.Size = max(v.Garbage, r.Garbage()), max(v.Size, r.Size)
			due = due || r.Garbage() > 0 && r.Garbage() >= settings.Threshold && now-r.ModifiedAt >= settings.MinAge &&
				!r.Remote && settings.Filter.server(t.Servers[r.server]) && settings.Filter.volume(r.Volume, t.LimitBytes)
		}
		if due {
			found = append(found, v)
		}
	}
	return found
}
