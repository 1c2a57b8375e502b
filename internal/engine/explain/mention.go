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

// Target is a thing with a page: a worker, a job type, a run or one of its items, or a lane, pool or object of admission.
type Target struct {
	Worker  string `json:"worker,omitempty"`
	JobType string `json:"job_type,omitempty"`
	Run     string `json:"run,omitempty"`
	Item    string `json:"item,omitempty"`
	Lane    string `json:"lane,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Object  string `json:"object,omitempty"`
}

// targetsOf lists the things named by the object of a code.
func targetsOf(code contract.Code, object string) []Target {
	if object == "" {
		return nil
	}
	var list []Target
	runs := []string{object}
	switch code { //nolint:exhaustive // the objects of the others are a run, or have no page
	case contract.CodeLaneBusy:
		return []Target{{Lane: object}}
	case contract.CodePoolFull:
		return []Target{{Pool: object}}
	case contract.CodeClaimHeld:
		return []Target{{Object: object}}
	case contract.CodeUnreachable, contract.CodeCordoned, contract.CodeCannotStart, contract.CodeNotInstalled, contract.CodeDiskFull,
		contract.CodeWorkerLimit, contract.CodeLosesWorkers, contract.CodeSlots, contract.CodeDraining, contract.CodeWorkerLost:
		for _, id := range NamesIn(object) {
			list = append(list, Target{Worker: id})
		}
		return list
	case contract.CodeRecovering:
		runs = NamesIn(object)
	}
	for _, name := range runs {
		if run := RunOf(name); run != nil {
			list = append(list, Target{Run: run.Run, Item: run.Item})
		}
	}
	return list
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
	r.OfRun, r.Targets = RunOf(r.Of), targetsOf(r.Code, r.Object)
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
