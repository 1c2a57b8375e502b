package plan

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// State selects volumes by their size.
type State string

// The states. A volume is full from [FullRatio] of the limit on.
const (
	AllStates State = "ALL"
	Active    State = "ACTIVE"
	Full      State = "FULL"
)

// FullRatio is the bound of SeaweedFS's own detection.
const FullRatio = 1.01

// Filter selects the volumes of a detection. The zero value selects all.
type Filter struct {
	collections *regexp.Regexp
	state       State
	dcs, racks  []string
	nodes       []string
}

// NewFilter reads filters. collections is a regular expression, ALL_COLLECTIONS or EACH_COLLECTION. The others are lists with commas, * and ?.
func NewFilter(collections string, state State, dataCenters, racks, nodes string) (Filter, error) {
	f := Filter{state: state, dcs: list(dataCenters), racks: list(racks), nodes: list(nodes)}
	if collections != "" && collections != "ALL_COLLECTIONS" && collections != "EACH_COLLECTION" {
		compiled, err := regexp.Compile(collections)
		if err != nil {
			return f, fmt.Errorf("collection_filter: %w", err)
		}
		f.collections = compiled
	}
	for _, pattern := range append(append(append([]string{}, f.dcs...), f.racks...), f.nodes...) {
		if _, err := path.Match(pattern, ""); err != nil {
			return f, fmt.Errorf("filter %q: %w", pattern, err)
		}
	}
	return f, nil
}

func list(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (f Filter) server(s Server) bool {
	return matches(f.dcs, s.DataCenter) && matches(f.racks, s.Rack) && matches(f.nodes, s.Address)
}

func (f Filter) narrows() bool {
	return f.collections != nil || f.state == Active || f.state == Full
}

func (f Filter) volume(v Volume, limit uint64) bool {
	if f.collections != nil && !f.collections.MatchString(v.Collection) {
		return false
	}
	full := limit > 0 && float64(v.Size) >= FullRatio*float64(limit)
	switch f.state {
	case Active:
		return !full
	case Full:
		return full
	case AllStates:
	}
	return true
}

// matches reports whether a pattern of the list matches. An empty list matches all.
func matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return len(patterns) == 0
}
