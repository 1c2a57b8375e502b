package admission

import (
	"maps"
	"slices"
	"time"
)

// Use is somebody who holds or waits.
type Use struct {
	Holder  Holder
	ID      string
	JobType string
	For     string
	Since   time.Time
	// N is the quantity of a pool, Shared the kind of an object's claim.
	N      int
	Shared bool
	// Kept: it waits, and others do not get this before it does.
	Kept bool
	// FreeAt is when it is freed because its holder has ended.
	FreeAt time.Time
}

// LaneView is one lane.
type LaneView struct {
	Name    string
	Holder  *Use
	Waiting []Use
}

// PoolView is one pool.
type PoolView struct {
	Name                     string
	Size, Declared, Operator int
	Used                     int
	Holders, Waiting         []Use
}

// ObjectView is one object.
type ObjectView struct {
	Name             string
	Holders, Waiting []Use
}

// View is everything, sorted by name.
type View struct {
	Recovering bool
	Expected   []string
	Lanes      []LaneView
	Pools      []PoolView
	Objects    []ObjectView
	Keys       int
}

// View describes the desk.
func (d *Desk) View() View {
	v := View{Keys: len(d.keys)}
	v.Recovering, v.Expected = d.Recovering()
	for _, name := range slices.Sorted(maps.Keys(d.lanes)) {
		l := d.lanes[name]
		seen := LaneView{Name: name}
		if l.holder != nil {
			seen.Holder = new(l.holder.use())
		}
		for _, t := range l.waiting {
			seen.Waiting = append(seen.Waiting, t.use())
		}
		v.Lanes = append(v.Lanes, seen)
	}
	for _, name := range slices.Sorted(maps.Keys(d.pools)) {
		v.Pools = append(v.Pools, d.poolView(name))
	}
	v.Objects = d.objectViews()
	return v
}

func (t *ticket) use() Use {
	return Use{Holder: t.Holder, ID: t.ID, JobType: t.JobType, For: t.For, Since: t.Since, FreeAt: t.FreeAt}
}

func (t *ticket) keepsFor(need string) bool { return !t.Granted && slices.Contains(t.Keeps, need) }

func (d *Desk) poolView(name string) PoolView {
	p := d.pools[name]
	v := PoolView{Name: name, Size: p.size(), Declared: p.Declared, Operator: p.Operator, Used: p.Used}
	for _, t := range d.tickets {
		for _, amount := range t.Pools {
			if amount.Pool != name {
				continue
			}
			use := t.use()
			use.N, use.Kept = amount.N, t.keepsFor(poolMark+name)
			if t.Granted {
				v.Holders = append(v.Holders, use)
			} else {
				v.Waiting = append(v.Waiting, use)
			}
		}
	}
	return v
}

func (d *Desk) objectViews() []ObjectView {
	views := map[string]*ObjectView{}
	for _, t := range d.tickets {
		for _, claim := range t.Objects {
			v := views[claim.Name]
			if v == nil {
				v = &ObjectView{Name: claim.Name}
				views[claim.Name] = v
			}
			use := t.use()
			use.Shared, use.Kept = claim.Shared, t.keepsFor(objectMark+claim.Name)
			if t.Granted {
				v.Holders = append(v.Holders, use)
			} else {
				v.Waiting = append(v.Waiting, use)
			}
		}
	}
	var list []ObjectView
	for _, name := range slices.Sorted(maps.Keys(views)) {
		list = append(list, *views[name])
	}
	return list
}

// KeyHolder says who holds a key.
func (d *Desk) KeyHolder(key uint64) (Use, bool) {
	t := d.keys[key]
	if t == nil {
		return Use{}, false
	}
	return t.use(), true
}
