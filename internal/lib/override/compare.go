package override

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Flat lists the settings of a policy as text under their paths, zeros too.
func Flat(policy jobtype.Policy) map[string]string {
	flat, values := map[string]string{}, reflect.ValueOf(policy)
	for i, key := range Names() {
		flat["policy."+key] = fmt.Sprint(values.Field(i).Interface())
	}
	return flat
}

// Compare lists the different settings by path.
func Compare(before, after map[string]string) []contract.FieldChange {
	paths := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(paths)
	var changes []contract.FieldChange
	for _, path := range slices.Compact(paths) {
		if before[path] != after[path] {
			changes = append(changes, contract.FieldChange{Path: path, Before: before[path], After: after[path]})
		}
	}
	return changes
}
