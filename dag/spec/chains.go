package spec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
)

func (u *unit) chainItems() {
	member := map[string]string{} // entry → first entry of its chain
	followers := u.followers()
	for k := range u.written {
		t := &u.written[k]
		if u.dropped > 0 {
			return // Each chain costs as much as it has entries.
		}
		if t.Settings == nil || t.ItemsInFlight == 0 || u.names[t.ID] != k {
			continue
		}
		if len(t.PerItem) > 0 {
			u.at(child(t.node, "items_in_flight"), "task %q continues a chain per item; write items_in_flight at the entry where the chain begins, before %q", t.ID, t.PerItem[0])
			continue
		}
		if u.stops && t.OnItemFailure != nil {
			u.at(child(t.node, "on_item_failure"), "on_failure: stop ends the whole run at the first failure, in the middle of other items, too; keep on_failure or on_item_failure of task %q", t.ID)
		}
		chain := dag.Chain{Entries: u.following(t.ID, followers), InFlight: t.ItemsInFlight}
		if t.OnItemFailure != nil {
			chain.OnFailure = *t.OnItemFailure
		}
		seen := map[string]bool{}
		for _, id := range chain.Entries {
			if other, twice := member[id]; twice {
				u.at(child(u.entry(id).node, "per_item"), "task %q continues the chains of %q and of %q, which both have items_in_flight; keep one", id, other, t.ID)
			}
			member[id] = t.ID
		}
		for _, id := range chain.Entries {
			u.checkMember(u.entry(id), chain.Entries[0], member, seen)
		}
		if u.out.chains == nil {
			u.out.chains = map[string]dag.Chain{}
		}
		u.out.chains[t.ID] = chain
	}
}

// checkMember refuses an entry that needs all items of another one: no item could end before the last has begun. seen
// holds the entries before its members that need none.
func (u *unit) checkMember(t *Task, first string, member map[string]string, seen map[string]bool) {
	if u.dropped > 0 {
		return
	}
	queue, visited := slices.Clone(t.Needs), []string(nil)
	for _, id := range t.PerItem {
		if member[id] != first {
			queue = append(queue, id)
		}
	}
	for head := 0; head < len(queue); head++ {
		id := queue[head]
		if member[id] == first {
			u.at(cmp.Or(child(t.node, "needs"), t.node), "task %q needs all items of %q before one of its own can go on, but %s has items_in_flight; name %q in per_item", t.ID, id, first, id)
			for _, id := range visited {
				delete(seen, id)
			}
			return
		}
		if other := u.entry(id); other != nil && !seen[id] {
			seen[id], visited = true, append(visited, id)
			queue = append(queue, other.Needs...)
			queue = append(queue, other.PerItem...)
		}
	}
	if t.late() || u.partial {
		return
	}
	//workflowcheck:ignore one fault is reported, whichever item shows it
	for args, id := range u.items[t.ID] {
		if other, ok := u.items[first][args]; ok && itemOf(other) != itemOf(id) {
			u.at(cmp.Or(child(t.node, "for_each"), t.node), "task %q has not the list of %q: with items_in_flight both need the same items in the same order", t.ID, first)
			return
		}
	}
}

func itemOf(id string) string {
	_, item, _ := strings.Cut(id, ".")
	return item
}
