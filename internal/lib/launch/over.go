package launch

import "maps"

// Over returns defaults overlaid by own. Objects, such as env and limits, are merged key by key.
func Over(defaults, own map[string]any) map[string]any {
	all := make(map[string]any, len(defaults)+len(own))
	maps.Copy(all, defaults)
	//workflowcheck:ignore each goes to a place of its own
	for key, value := range own {
		below, isObject := all[key].(map[string]any)
		above, both := value.(map[string]any)
		if isObject && both {
			value = overlay(below, above)
		}
		all[key] = value
	}
	return all
}

func overlay(below, above map[string]any) map[string]any {
	merged := maps.Clone(below)
	maps.Copy(merged, above)
	return merged
}
