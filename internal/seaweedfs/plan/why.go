package plan

import (
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Obstacle is the reason why a plan leaves volumes or servers out.
type Obstacle string

// The obstacles.
const (
	FewServers     Obstacle = "few_servers"
	NoVolumes      Obstacle = "no_volumes"
	NoShards       Obstacle = "no_shards"
	FilteredOut    Obstacle = "filtered_out"
	OnRemote       Obstacle = "on_remote"
	NoGarbage      Obstacle = "no_garbage"
	LittleGarbage  Obstacle = "little_garbage"
	Young          Obstacle = "young"
	Recent         Obstacle = "recent"
	HasShards      Obstacle = "has_shards"
	MissingReplica Obstacle = "missing_replica"
	Small          Obstacle = "small"
	NotFull        Obstacle = "not_full"
	NoRoom         Obstacle = "no_room"
	Balanced       Obstacle = "balanced"
	NoBetterPlace  Obstacle = "no_better_place"
)

// Left counts volumes, or servers, that an obstacle leaves out.
type Left struct {
	Obstacle Obstacle
	Count    int
	// Best is the value closest to Limit, Volume its volume.
	Best, Limit float64
	Volume      uint32
	DiskType    string
}

type census map[Obstacle]*Left

func (c census) count(obstacle Obstacle, volume uint32, value, limit float64) {
	left := c[obstacle]
	if left == nil {
		left = &Left{Obstacle: obstacle, Volume: volume, Best: value, Limit: limit}
		c[obstacle] = left
	}
	left.Count++
	if value > left.Best {
		left.Best, left.Volume = value, volume
	}
}

// list returns the counts, most volumes first.
func (c census) list() []Left {
	all := make([]Left, 0, len(c))
	for _, left := range c {
		all = append(all, *left)
	}
	slices.SortFunc(all, func(a, b Left) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return int(a.Volume) - int(b.Volume)
	})
	return all
}

// WhyNoVacuum counts the volumes that [Vacuums] leaves out.
func WhyNoVacuum(t Topology, settings VacuumSettings) []Left {
	c := census{}
	for _, replicas := range t.volumes() {
		writable := slices.ContainsFunc(replicas, func(r placed) bool { return !r.ReadOnly })
		obstacle, best := FilteredOut, placed{Volume: replicas[0].Volume}
		for _, r := range replicas {
			switch {
			case writable && r.ReadOnly, !settings.Filter.server(t.Servers[r.server]), !settings.Filter.volume(r.Volume, t.LimitBytes):
				continue
			case obstacle != FilteredOut && r.Garbage() <= best.Garbage():
				continue
			}
			best = r
			obstacle = settings.obstacle(r.Volume)
		}
		c.count(obstacle, best.ID, best.Garbage(), settings.Threshold)
	}
	return orNoVolumes(c.list())
}

func (s VacuumSettings) obstacle(v Volume) Obstacle {
	switch {
	case v.Remote:
		return OnRemote
	case v.Garbage() == 0:
		return NoGarbage
	case v.Garbage() < s.Threshold:
		return LittleGarbage
	}
	return Young
}

func orNoVolumes(left []Left) []Left {
	if len(left) == 0 {
		return []Left{{Obstacle: NoVolumes}}
	}
	return left
}

// WhyNoMove returns the reason why [Moves] plans nothing, for each type of disk.
func WhyNoMove(t Topology, settings BalanceSettings) []Left {
	holders := t.holders()
	var left []Left
	for _, diskType := range t.diskTypes() {
		b := newBalance(t, settings, diskType, holders)
		source, targets := b.extremes()
		switch {
		case len(b.loads) < settings.MinServers:
			left = append(left, Left{Obstacle: FewServers, Count: len(b.loads), Limit: float64(settings.MinServers), DiskType: diskType})
		case source == nil && b.filtered() > 0:
			left = append(left, Left{Obstacle: FilteredOut, Count: b.filtered(), DiskType: diskType})
		case source == nil:
			left = append(left, Left{Obstacle: NoVolumes, DiskType: diskType})
		case len(targets) == 0:
			left = append(left, Left{Obstacle: NoRoom, Count: len(b.loads) - 1, DiskType: diskType})
		case b.imbalance(source, targets[0]) <= settings.Threshold:
			left = append(left, Left{Obstacle: Balanced, Count: len(b.loads), Best: b.imbalance(source, targets[0]), Limit: settings.Threshold, DiskType: diskType})
		default:
			left = append(left, Left{Obstacle: NoBetterPlace, Count: len(source.volumes), Best: b.imbalance(source, targets[0]), Limit: settings.Threshold, DiskType: diskType})
		}
	}
	return orNoVolumes(left)
}

func (b *balance) filtered() (out int) {
	for _, l := range b.loads {
		out += lists.Count(l.volumes, func(v Volume) bool { return !b.settings.Filter.volume(v, b.topology.LimitBytes) })
	}
	return out
}

// WhyNoEncode counts the volumes that [Encodes] leaves out.
func WhyNoEncode(t Topology, settings EncodeSettings, now int64) []Left {
	if len(t.Servers) < minECServers {
		return []Left{{Obstacle: FewServers, Count: len(t.Servers), Limit: minECServers}}
	}
	encoded, c := shardTargets(t), census{}
	for _, replicas := range t.volumes() {
		shards, has := encoded[replicas[0].ID]
		if has && !(unended(t, replicas) && settings.wants(t, replicas, shards, now)) {
			c.count(HasShards, replicas[0].ID, 0, 0)
			continue
		}
		obstacle, value, limit := settings.obstacle(t, replicas, shards, now)
		c.count(obstacle, replicas[0].ID, value, limit)
	}
	return orNoVolumes(c.list())
}

func (s EncodeSettings) obstacle(t Topology, replicas []placed, shards []ShardTarget, now int64) (obstacle Obstacle, value, limit float64) {
	if len(replicas)+hidden(t, replicas, shards) < Copies(replicas[0].Placement) {
		return MissingReplica, 0, 0
	}
	for _, r := range replicas {
		fullness := 0.0
		if t.LimitBytes > 0 {
			fullness = float64(r.Size) / float64(t.LimitBytes)
		}
		switch {
		case r.Remote:
			return OnRemote, 0, 0
		case r.Size < s.MinBytes:
			return Small, float64(r.Size), float64(s.MinBytes)
		case now-r.ModifiedAt < s.QuietSeconds:
			return Recent, float64(now - r.ModifiedAt), float64(s.QuietSeconds)
		case fullness < s.Fullness:
			return NotFull, fullness, s.Fullness
		}
	}
	if !s.wants(t, replicas, shards, now) {
		return FilteredOut, 0, 0
	}
	return NoRoom, 0, 0
}

// WhyNoShardMove returns the reason why [ShardMoves] plans nothing.
func WhyNoShardMove(t Topology, settings ECBalanceSettings) []Left {
	nodes := shardNodes(t, settings)
	volumes := map[uint32]bool{}
	for _, n := range nodes {
		for id := range n.held {
			volumes[id] = true
		}
	}
	switch {
	case len(nodes) < settings.MinServers:
		return []Left{{Obstacle: FewServers, Count: len(nodes), Limit: float64(settings.MinServers)}}
	case len(volumes) == 0:
		return []Left{{Obstacle: NoShards}}
	}
	return []Left{{Obstacle: Balanced, Count: len(nodes), Limit: settings.Threshold}}
}
