package action

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOneDefinitionForAllDoors: command, request and inputs of an action agree.
func TestOneDefinitionForAllDoors(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Action{
		"roundsman resume scrub POST /job-types/scrub/resume":                                New(ResumeJobType, Args{"name": "scrub", "other": "x"}),
		"roundsman start scrub --ignore-window POST /job-types/scrub/run":                    New(RunJobType, Args{"name": "scrub", "ignore_window": "true"}),
		`roundsman resume scrub:'it'\''s' POST /job-types/scrub/keys/forgive`:                New(ForgiveKey, Args{"name": "scrub", "key": "it's"}),
		"roundsman set dag/n/r concurrency.load=N PATCH /runs/n~r":                           New(SetRun, Args{"run": "dag/n/r", "setting": "concurrency.load"}),
		"roundsman skip dag/n/r/ITEM POST /runs/n~r/items/{item}/skip":                       New(SkipItem, Args{"run": "dag/n/r"}),
		"roundsman cancel group/a-1/job-00001 POST /runs/a-1/items/job-00001/cancel":         New(CancelItem, Args{"run": "group/a-1", "item": "job-00001"}),
		"roundsman cancel RUN/ITEM POST /runs/{run}/items/{item}/cancel":                     New(CancelItem, nil),
		"roundsman set pool/'a b/c' size=N PUT /pools/a%20b%2Fc/size":                        New(SetPoolSize, Args{"pool": "a b/c"}),
		"roundsman set WORKER max_execute=N POST /workers/{id}/resize":                       New(ResizeWorker, nil),
		"roundsman explain group/a-1 GET /explain?thing=group%2Fa-1":                         New(Explain, Args{"thing": "group/a-1"}),
		"roundsman approve dag/n/r/sub/ok --reason fine POST /runs/n~r~sub/items/ok/approve": New(ApproveItem, Args{"run": "dag/n/r/sub", "item": "ok", "note": "fine"}),
		"roundsman worker --id NAME --labels role=storage  ":                                 New(StartWorker, Args{"labels": "role=storage"}),
		"roundsman set n max_execute= POST /workers/n/resize":                                New(ResizeWorker, Args{"id": "n", "reset": "true"}),
		"roundsman set n max_execute=4 max_detect=2 POST /workers/n/resize":                  New(ResizeWorker, Args{"id": "n", "max_execute": "4", "max_detect": "2"}),
		"roundsman set scrub every=8h retry_limit=2 PATCH /job-types/scrub/policy":           New(SetJobType, Args{"name": "scrub", "retry_limit": "2", "every": "8h"}),
		"roundsman set scrub --restore 7 POST /job-types/scrub/restore":                      New(RestoreJobType, Args{"name": "scrub", "entry": "7"}),
		"temporal workflow terminate --workflow-id group/a-1  ":                              New(TerminateWorkflow, Args{"workflow": "group/a-1"}),
	} {
		r := Request{}
		if a.Request != nil {
			r = *a.Request
		}
		assert.Equal(t, want, a.Command+" "+r.Method+" "+r.Path)
	}
	assert.Equal(t, map[string]any{"ignore_window": true}, New(RunJobType, Args{"name": "a", "ignore_window": "true"}).Request.Body)
	assert.Equal(t, map[string]any{"every": "8h", "retry_limit": 2, "interactive": true}, New(SetJobType, Args{"name": "a", "retry_limit": "2", "every": "8h", "interactive": "true"}).Request.Body)
	assert.Equal(t, map[string]any{"reset": true}, New(ResizeWorker, Args{"id": "n", "reset": "true"}).Request.Body)
	assert.Equal(t, []Input{{Name: "reason", Kind: Text, Label: "Why", Body: "reason", Flag: "--reason"}}, New(ResizeWorker, Args{"id": "n", "reset": "true"}).Inputs)
	assert.Equal(t, map[string]any{"size": 3}, New(SetPoolSize, Args{"pool": "a", "size": "3"}).Request.Body)
	assert.Equal(t, map[string]any{"concurrency": 3}, New(SetRun, Args{"run": "dag/n/r", "setting": "concurrency", "value": "3"}).Request.Body)
	assert.Equal(t, []Input{{Name: "value", Kind: Number, Label: "New value", Required: true, Body: "concurrency", Word: "N"}}, New(SetRun, Args{"run": "dag/n/r", "setting": "concurrency"}).Inputs)
	assert.Equal(t, []Input{{Name: "note", Kind: Text, Label: "Why", Body: "note", Flag: "--reason"}}, New(ApproveItem, Args{"run": "dag/n/r", "item": "ok"}).Inputs)
	assert.Equal(t, "operate items", New(ApproveItem, nil).Permission)
	assert.Panics(t, func() { New("dance", nil) })
}

// TestEveryOperationIsComplete: each operation is in the REST API or gives the reason that it needs a shell.
func TestEveryOperationIsComplete(t *testing.T) {
	t.Parallel()
	for _, operation := range Operations() {
		a := New(operation, nil)
		assert.NotEmpty(t, a.Label, operation)
		assert.NotEmpty(t, a.Command, operation)
		assert.Equal(t, a.Request == nil, Shell(operation) != "", operation)
		assert.Equal(t, a.Request == nil, a.Permission == "", operation)
		if a.Request != nil && !a.Reads() {
			assert.NotEmpty(t, a.Effect, operation)
		}
		for _, in := range a.Inputs {
			assert.NotEqual(t, in.Required, in.Word == "", "%s: %s", operation, in.Name)
			assert.NotEqual(t, in.Required, in.Flag != "", "%s: %s", operation, in.Name)
		}
	}
	assert.Contains(t, Params(ForgiveKey), "key")
}
