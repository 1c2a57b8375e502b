// Package needs has the resources that items of a run hold.
package needs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Needs are resources that an item holds from before its attempt until its end.
type Needs struct {
	// Pools are quantities by resource pool.
	Pools map[string]int `json:"p,omitempty"`
	// Exclusive and Shared are objects.
	Exclusive []string `json:"e,omitempty"`
	Shared    []string `json:"s,omitempty"`
	// Budget is that of a task, which is refused while it is disabled.
	Budget *contract.TaskBudget `json:"b,omitempty"`
}

// Some reports whether there are any.
func (n Needs) Some() bool { return len(n.Pools)+len(n.Exclusive)+len(n.Shared) > 0 || n.Budget != nil }

// Key names the needs for which items wait: a budget is answered at once.
func (n Needs) Key() string {
	var key strings.Builder
	for _, pool := range slices.Sorted(maps.Keys(n.Pools)) {
		key.WriteString(fmt.Sprintf("p%q%d", pool, n.Pools[pool]))
	}
	for _, list := range [][]string{n.Exclusive, n.Shared} {
		key.WriteString(fmt.Sprintf("%q", slices.Sorted(slices.Values(list))))
	}
	return key.String()
}

// String names resources for people.
func (n Needs) String() string {
	return explain.TextNeeds(n.Pools, n.Exclusive, n.Shared, n.Budget != nil)
}
