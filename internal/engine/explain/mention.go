package explain

import (
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// RunsIn lists the runs, jobs and tasks that a sentence of the house names, in their order. Texts of people and programs
// name none: a path of theirs may look the same.
func RunsIn(text string) []Holder {
	var list []Holder
	for word := range strings.FieldsSeq(text) {
		if named, ok := runIn(strings.TrimRight(strings.TrimSuffix(strings.TrimLeft(word, `("'`), "."), `:,;)"'`)); ok {
			list = append(list, named)
		}
	}
	return list
}

// RunOf returns the run or job that an object names; nil for other objects. The path of a DAG is a run: the path of a
// sub-DAG extends its parent's.
func RunOf(object string) *Holder {
	named, ok := runIn(object)
	if _, _, ofDAG := contract.DAGOfWorkflow(object); ofDAG {
		named = Holder{Run: object}
	}
	if !ok {
		return nil
	}
	return &named
}

// Target is the thing that an object names: a worker, a job type, or a run or one of its items.
type Target struct {
	Worker  string `json:"worker,omitempty"`
	JobType string `json:"job_type,omitempty"`
	Run     string `json:"run,omitempty"`
	Item    string `json:"item,omitempty"`
}

// TargetOf returns the target of an entry of the audit log; nil for a pool or a key.
func TargetOf(e contract.AuditEntry) *Target {
	kind, name, _ := strings.Cut(e.Object, "/")
	name, _, inside := strings.Cut(name, "/")
	named := RunOf(e.Object)
	switch {
	case kind == "worker" && !inside:
		return &Target{Worker: name}
	case kind == "jobtype":
		return &Target{JobType: name}
	case named != nil:
		return &Target{Run: named.Run, Item: named.Item}
	case e.Object == "" && e.JobType != "":
		return &Target{JobType: e.JobType}
	}
	return nil
}

// runIn splits a path into a run and its last item. The path of a sub-DAG begins with the path of its parent.
func runIn(path string) (Holder, bool) {
	least := 2
	if _, _, ofDAG := contract.DAGOfWorkflow(path); ofDAG {
		least = 3
	} else if id, ofType := strings.CutPrefix(path, contract.GroupWorkflowID("")); !ofType || !strings.Contains(id, "-") {
		return Holder{}, false
	}
	at := strings.LastIndex(path, "/")
	if strings.Count(path, "/") < least {
		return Holder{Run: path}, true
	}
	return Holder{Run: path[:at], Item: path[at+1:]}, true
}

// withMentions sets the fields for the links and the letters of Detail.
func (r Reason) withMentions() Reason {
	r.OfRun, r.ObjectRun = RunOf(r.Of), RunOf(r.Object)
	r.Named = r.Object != "" && strings.Contains(" "+r.Detail, " "+r.Object)
	if r.Quoted = r.Code == contract.CodeApproval && r.Detail != TextPerson; r.Quoted {
		return r
	}
	r.Runs = RunsIn(r.Detail)
	for i, named := range r.Runs {
		if r.Holder != nil && named.Thing() == r.Holder.Thing() {
			r.Runs[i] = *r.Holder
		}
	}
	return r
}
