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
