package contract

import "strings"

// RunKey names the run of a workflow id in one segment of a URL: proxies mangle
// an escaped slash. group/ and dag/ are left out where that is not ambiguous, and
// every other slash is written as ~, which no id of a run contains.
func RunKey(workflowID string) string {
	key := strings.ReplaceAll(workflowID, "/", "~")
	if rest, group := strings.CutPrefix(workflowID, groupPrefix); group && !strings.Contains(rest, "/") {
		return rest
	}
	name, _, isDAG := DAGOfWorkflow(workflowID)
	if isDAG && dagPrefix != name+"/" && groupPrefix != name+"/" {
		return strings.TrimPrefix(key, "dag~")
	}
	return key
}

// WorkflowOfRunKey is the inverse of [RunKey]. It also takes a key with its prefix.
func WorkflowOfRunKey(key string) string {
	id := strings.ReplaceAll(key, "~", "/")
	switch {
	case strings.HasPrefix(id, groupPrefix), strings.HasPrefix(id, dagPrefix):
		return id
	case strings.Contains(id, "/"):
		return dagPrefix + id
	}
	return groupPrefix + id
}
