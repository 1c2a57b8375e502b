package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Spread restricts the locations of a volume's shards, in addition to the fixed rules.
type Spread struct {
	// Tags are labels of disks, the most preferred first.
	Tags []string
	// center, rack and server bound the shards of a volume in one of them. 0 is no bound.
	center, rack, server int
}

// NewSpread reads a list of tags and a replica placement xyz: at most x shards of a volume in a data center, y in a
// rack and z + 1 on a server. A digit 0 sets no bound.
func NewSpread(tags, placement string) (Spread, error) {
	s := Spread{Tags: list(tags)}
	if placement == "" {
		return s, nil
	}
	if len(placement) != 3 || strings.Trim(placement, "0123456789") != "" {
		return s, fmt.Errorf("%q is no replica placement: write three digits, for example 022", placement)
	}
	s.center, s.rack, s.server = int(placement[0]-'0'), int(placement[1]-'0'), int(placement[2]-'0')
	if s.server > 0 {
		s.server++
	}
	return s, nil
}

// rank is 0 for a disk with the most preferred tag, more for others.
func (s Spread) rank(tags []string) int {
	for i, tag := range s.Tags {
		if slices.Contains(tags, tag) {
			return i
		}
	}
	return len(s.Tags)
}

func (s Spread) allows(center, rack, server int) bool {
	below := func(have, bound int) bool { return bound == 0 || have < bound }
	return below(center, s.center) && below(rack, s.rack) && below(server, s.server)
}

// withoutBounds keeps only the tags, for clusters without enough servers.
func (s Spread) withoutBounds() Spread { return Spread{Tags: s.Tags} }

func (s Spread) bounded() bool { return s.center+s.rack+s.server > 0 }
