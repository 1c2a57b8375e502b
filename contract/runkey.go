package contract

import "strings"

// RunKey returns a workflow id as one URL segment: proxies mangle an escaped slash. It omits group/ and dag/ if
// unambiguous and writes other slashes as ~.
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

// WorkflowOfRunKey is the inverse of [RunKey]. It accepts a key with its prefix too.
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
