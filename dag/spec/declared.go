package spec

import "slices"

type declared struct {
	written []Task
	names   map[string]int               // id → position of its first entry
	fans    map[string]bool              // entries that fan out
	fanned  map[int][]instance           // position of a fan-out → its tasks
	items   map[string]map[string]string // fan-out → args → id of its task
}

func newDeclared(entries []Task) declared {
	return declared{
		written: entries, names: make(map[string]int, len(entries)), fans: map[string]bool{}, fanned: map[int][]instance{},
		items: map[string]map[string]string{},
	}
}

func (d *declared) entry(id string) *Task {
	if k, ok := d.names[id]; ok {
		return &d.written[k]
	}
	return nil
}

func (d *declared) instances(k int) []instance {
	id := d.written[k].ID
	if first, ok := d.names[id]; !ok || first != k {
		return nil
	}
	if fanned, ok := d.fanned[k]; ok {
		return fanned
	}
	return []instance{{id: id}}
}

func (d *declared) plain(t *Task, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return d.entry(name) == nil || d.fans[name] || name == t.ID })
}

func (d *declared) withItem(t *Task, in instance, needs []string) []string {
	if len(t.PerItem) == 0 || t.late() {
		return needs
	}
	needs = slices.Clone(needs)
	for _, name := range t.PerItem {
		if id := d.items[name][string(in.args)]; id != "" {
			needs = append(needs, id)
		}
	}
	return needs
}

// followers returns the fan-outs that continue each entry item by item.
func (d *declared) followers() map[string][]string {
	followers := map[string][]string{}
	for k := range d.written {
		t := &d.written[k]
		if !d.fans[t.ID] || d.names[t.ID] != k {
			continue
		}
		for _, id := range t.PerItem {
			followers[id] = append(followers[id], t.ID)
		}
	}
	return followers
}

// following returns an entry and then, as declared, the fan-outs that continue its chains.
func (d *declared) following(first string, followers map[string][]string) []string {
	chain, in := []string{first}, map[string]bool{first: true}
	for head := 0; head < len(chain); head++ {
		for _, id := range followers[chain[head]] {
			if !in[id] {
				in[id] = true
				chain = append(chain, id)
			}
		}
	}
	slices.SortFunc(chain[1:], func(a, b string) int { return d.names[a] - d.names[b] })
	return chain
}
