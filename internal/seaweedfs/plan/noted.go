package plan

import "time"

// Note is written before a move marks its source read-only, and removed when the move has ended.
type Note struct {
	Source string    `json:"source"`
	Target string    `json:"target"`
	At     time.Time `json:"at"`
}

// Noted finds sources that an unfinished move left read-only without a copy: only the note shows that they were writable.
func Noted(t Topology, filter Filter, notes map[uint32]Note, limit int) []Move {
	if len(notes) == 0 {
		return nil
	}
	var moves []Move
	for _, replicas := range t.volumes() {
		note, noted := notes[replicas[0].ID]
		copies := Copies(replicas[0].Placement)
		if !noted || len(moves) >= limit || len(replicas) > copies || !filter.volume(replicas[0].Volume, t.LimitBytes) {
			continue
		}
		for _, r := range replicas {
			if r.ReadOnly && t.Servers[r.server].Address == note.Source {
				moves = append(moves, Move{Volume: r.ID, Collection: r.Collection, Source: note.Source, Target: note.Target, Copies: copies})
			}
		}
	}
	return moves
}
