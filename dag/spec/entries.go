package spec

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// An entry without fan-out (there may be very many) costs only its name and its task.
func (u *unit) expand(entries []Task) {
	if slices.ContainsFunc(entries, func(t Task) bool { return t.fans() }) {
		entries = slices.Clone(entries) // Their items are filled in.
	}
	u.declared, u.structural = newDeclared(entries), map[string]bool{}
	total := 0
	for k := range entries {
		u.fillIn(&entries[k])
		u.declare(k)
		if total += len(u.instances(k)); total > dag.MaxTasks {
			u.at(entries[k].node, "the spec has more than %d tasks; split it into sub-DAGs", dag.MaxTasks)
			return
		}
	}
	u.out.tasks, u.out.source = make([]dag.Task, 0, total), make([]*Task, 0, total)
	edges := 0
	for k := range entries {
		t := &entries[k]
		u.checkSource(t)
		u.checkPerItem(t)
		needs, before := u.resolve(t, "needs", t.Needs), u.resolve(t, "before", t.Before)
		instances := u.instances(k)
		if edges += len(needs) * len(instances); edges > dag.MaxEdges {
			u.at(t.node, "the spec has more than %d dependencies; put a noop task between wide fan-outs", dag.MaxEdges)
			return
		}
		u.out.limit(t)
		u.addTasks(t, instances, needs, before)
	}
	if slices.ContainsFunc(entries, func(t Task) bool { return t.ItemsInFlight > 0 }) {
		u.chainItems()
	}
}

func (u *unit) addTasks(t *Task, instances []instance, needs, before []string) {
	payload := u.definition(t)
	for _, in := range instances {
		task := dag.Task{
			ID: in.id, Needs: u.withItem(t, in, needs), Priority: t.Priority, Rule: t.TriggerRule,
			Unmetered: !t.kind.metered(), Gated: t.gated(), Payload: payload, Args: in.args,
		}
		if t.late() {
			var err error
			if task, err = u.standIn(t, needs, payload); err != nil {
				u.at(t.node, "%v", err)
			}
		}
		u.out.tasks, u.out.source = append(u.out.tasks, task), append(u.out.source, t)
		if u.run != nil {
			u.out.before = append(u.out.before, before)
		}
	}
}

func (u *unit) declare(k int) {
	t := &u.written[k]
	if first := u.entry(t.ID); first != nil {
		line := 0
		if first.node != nil {
			line = first.node.Place().Line
		}
		u.at(cmp.Or(child(t.node, "id"), t.node), "task %q is already declared in line %d; rename one of them", t.ID, line)
		return
	}
	if u.partial && t.ID == "" {
		return
	}
	u.names[t.ID] = k
	if !t.fans() {
		return
	}
	u.fans[t.ID] = true
	if u.partial || t.late() {
		return
	}
	list, err := t.instances()
	if err != nil {
		u.at(t.node, "%v", err)
	}
	items := make(map[string]string, len(list))
	for _, in := range list {
		items[string(in.args)] = in.id
	}
	u.fanned[k], u.items[t.ID] = list, items
}

func (u *unit) resolve(t *Task, key string, names []string) []string {
	if u.plain(t, names) {
		return names
	}
	var ids []string
	for k, name := range names {
		found, ok := u.idsOf(name)
		if !ok && u.nameless {
			continue
		}
		if ok && name != t.ID {
			ids = append(ids, found...)
			continue
		}
		at := entryNode(t.node, key, k)
		if name == t.ID {
			u.at(at, "task %q needs itself; remove that dependency", t.ID)
			continue
		}
		u.at(at, "task %q %s %q, which is not a task; %s", t.ID, key, name, u.similar(name))
	}
	return ids
}

func (u *unit) idsOf(name string) ([]string, bool) {
	k, ok := u.names[name]
	if !ok {
		if u.known != nil {
			return u.known(name)
		}
		return nil, false
	}
	instances := u.instances(k)
	return lists.Map(instances, func(in instance) string { return in.id }), true
}
