package admission

import "strings"

// within reports whether the request comes from within something that has
// resources: from the sub-DAG of a task, or from the DAG of a job. That gives
// nothing back before this request is granted. If it waited in turn until somebody
// else has got what is kept for him, and he waits for what is not given back, none
// of them would ever go on.
func (d *Desk) within(t *ticket) bool {
	for _, outer := range d.tickets {
		if outer.Granted && outer.wantsResources() && outer.For != "" &&
			strings.HasPrefix(t.Holder.ID+"/", outer.Holder.ID+"/"+outer.For+"/") {
			return true
		}
	}
	return false
}
