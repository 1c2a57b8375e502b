package plan

import (
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// HalfMoved finds unfinished moves: a surplus copy that takes writes, next to a read-only source of its size. An
// ambiguous volume is left out.
func HalfMoved(t Topology, filter Filter, limit int) []Move {
	var moves []Move
	for _, replicas := range t.volumes() {
		if len(moves) >= limit {
			break
		}
		copies := Copies(replicas[0].Placement)
		if len(replicas) != copies+1 || replicas[0].Remote || !filter.volume(replicas[0].Volume, t.LimitBytes) {
			continue
		}
		source := slices.IndexFunc(replicas, func(r placed) bool { return r.ReadOnly })
		targets := slices.DeleteFunc(slices.Clone(replicas), func(r placed) bool {
			return r.ReadOnly || source >= 0 && copies > 1 && r.Size != replicas[source].Size
		})
		if source < 0 || len(targets) != 1 || copies > 1 && readOnly(replicas) != 1 {
			continue
		}
		from, into := replicas[source], targets[0]
		moves = append(moves, Move{
			Volume: from.ID, Collection: from.Collection, Source: t.Servers[from.server].Address, Target: t.Servers[into.server].Address,
			DiskType: into.disk, Size: from.Size, Copies: copies,
		})
	}
	return moves
}

func readOnly(replicas []placed) int {
	return lists.Count(replicas, func(r placed) bool { return r.ReadOnly })
}
