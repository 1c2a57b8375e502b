package action

import (
	"maps"
	"sync"

	"github.com/roundsman/roundsman/internal/engine/access"
)

// The operations of the REST API, by its operation ids.
const (
	ApplyConfiguration Operation = "apply-configuration"
	ApproveItem        Operation = "approve-item"
	CancelItem         Operation = "cancel-item"
	CancelRun          Operation = "cancel-run"
	CordonWorker       Operation = "cordon-worker"
	DrainWorker        Operation = "drain-worker"
	Explain            Operation = "explain"
	ForgiveKey         Operation = "forgive-key"
	GetDoctor          Operation = "get-doctor"
	GetItem            Operation = "get-item"
	GetRun             Operation = "get-run"
	GetWorker          Operation = "get-worker"
	ListAudit          Operation = "list-audit"
	ListHeld           Operation = "list-held"
	ListItems          Operation = "list-items"
	ListJobTypes       Operation = "list-job-types"
	ListNeeds          Operation = "list-needs"
	ListRuns           Operation = "list-runs"
	ListWorkers        Operation = "list-workers"
	PauseJobType       Operation = "pause-job-type"
	PauseRun           Operation = "pause-run"
	ReEnableJobType    Operation = "re-enable-job-type"
	RejectItem         Operation = "reject-item"
	ReleaseRun         Operation = "release-run"
	ResizeWorker       Operation = "resize-worker"
	RestoreJobType     Operation = "restore-job-type"
	ResumeJobType      Operation = "resume-job-type"
	ResumeRun          Operation = "resume-run"
	RetryRun           Operation = "retry-run"
	RunJobType         Operation = "run-job-type"
	SetJobType         Operation = "set-job-type-policy"
	SetPoolSize        Operation = "set-pool-size"
	SetRun             Operation = "set-run"
	SkipItem           Operation = "skip-item"
	UncordonWorker     Operation = "uncordon-worker"
)

// The operations that need a shell.
const (
	CreateNamespace       Operation = "create-namespace"
	CreateSearchAttribute Operation = "create-search-attribute"
	KeepRuns              Operation = "keep-runs"
	ListReceivers         Operation = "list-receivers"
	StartDev              Operation = "start-dev"
	StartServer           Operation = "start-server"
	StartWorker           Operation = "start-worker"
	TestReceiver          Operation = "test-receiver"
	TerminateWorkflow     Operation = "terminate-workflow"
	UnpauseWorkflow       Operation = "unpause-workflow"
)

type definition struct {
	label, effect       string
	danger              bool
	command             string
	method, path, shell string
	may                 access.Permission
	params              []param
	// settings: arguments without a parameter are settings.
	settings bool
}

type param struct {
	name, label string
	kind        Kind
	// word stands for a missing argument in the command line; flag is its option; empty: positional.
	word, flag string
	lead       string
	// after is an argument that stands before this one in the same word, joint the text between them.
	after, joint string
	// body is the field of the request's body. A setting has the name of its own argument as the field.
	body    string
	setting bool
	// query is an argument of the request's query.
	query     bool
	run, item bool
	// An optional argument may be missing, a silent one has no word of its own, a hidden one is no input.
	optional, silent, hidden bool
	unless                   string
}

func may(verb access.Verb, kind access.Kind) access.Permission {
	return access.Permission{Verb: verb, Kind: kind}
}

func named(word, label string) param {
	return param{name: "name", label: label, kind: Text, word: word}
}

func runParam() param { return param{name: "run", label: "Run", kind: Text, word: "RUN", run: true} }

func itemParam() param {
	return param{name: "item", label: "Task", kind: Text, word: "TASK", item: true}
}

func why(field, flag string) param {
	return param{name: field, label: "Why", kind: Text, word: "TEXT", flag: flag, body: field, optional: true}
}

func keyParam(optional bool) param {
	return param{name: "key", label: "Key", kind: Text, word: "KEY", after: "name", joint: ":", body: "dedupe_key", optional: optional, hidden: optional}
}

// keyOf is TYPE:KEY as one word of the command line.
func keyOf(word string) []param {
	name, key := named(word, "Job type"), keyParam(false)
	name.silent = true
	return []param{name, key}
}

// inRun is RUN/ITEM as one word of the command line.
func inRun() []param {
	run, item := runParam(), itemParam()
	run.silent = true
	item.word, item.after, item.joint = "ITEM", "run", "/"
	return []param{run, item}
}

var table = sync.OnceValue(func() map[Operation]definition { //nolint:gochecknoglobals // constant table
	all := map[Operation]definition{}
	for _, part := range []map[Operation]definition{ofJobTypes(), ofRuns(), ofItems(), ofFleet(), ofSystem(), ofShells()} {
		maps.Copy(all, part)
	}
	return all
})

func ofJobTypes() map[Operation]definition {
	operate := may(access.Operate, access.JobTypes)
	return map[Operation]definition{
		ListJobTypes: {label: "Job types", command: "roundsman jobtypes", method: "GET", path: "/job-types", may: may(access.View, access.JobTypes)},
		ResumeJobType: {
			label: "Resume", effect: "It starts when it is due again.",
			command: "roundsman resume", method: "POST", path: "/job-types/{name}/resume", may: operate,
			params: []param{named("NAME", "Job type")},
		},
		PauseJobType: {
			label: "Pause", effect: "It is not due until it is resumed. A running group continues.",
			command: "roundsman pause", method: "POST", path: "/job-types/{name}/pause", may: operate,
			params: []param{named("NAME", "Job type"), why("note", "--reason")},
		},
		SetJobType: {
			label: "Put back", effect: "The next run has these settings. They hold until the next apply.",
			command: "roundsman set", method: "PATCH", path: "/job-types/{name}/policy", may: operate,
			params: []param{named("NAME", "Job type")}, settings: true,
		},
		RestoreJobType: {
			label: "Put back", effect: "The next run has all settings that it had before this entry. They hold until the next apply.",
			command: "roundsman set", method: "POST", path: "/job-types/{name}/restore", may: may(access.Change, access.Configuration),
			params: []param{named("NAME", "Job type"), {name: "entry", label: "Entry", kind: Number, word: "SEQ", flag: "--restore", body: "entry"}},
		},
		RunJobType: {
			label: "Run now", effect: "A run starts at once, in addition to the schedule.",
			command: "roundsman start", method: "POST", path: "/job-types/{name}/run", may: operate,
			params: []param{
				named("NAME", "Job type"),
				{name: "ignore_window", label: "Run although the window is closed", kind: Checkbox, word: "true", flag: "--ignore-window", body: "ignore_window", optional: true, hidden: true},
			},
		},
		ReEnableJobType: {
			label: "Re-enable", effect: "Its failures count from zero; the next run takes it again.",
			command: "roundsman resume --kind budget", method: "POST", path: "/job-types/{name}/re-enable", may: operate,
			params: []param{named("NAME", "Job type"), keyParam(true)},
		},
		ForgiveKey: {
			label: "Forgive", effect: "Everything that is held against the key is forgotten; the next run takes it again.",
			command: "roundsman resume", method: "POST", path: "/job-types/{name}/keys/forgive", may: operate,
			params: keyOf("JOBTYPE"),
		},
	}
}

func ofRuns() map[Operation]definition {
	view, operate := may(access.View, access.Runs), may(access.Operate, access.Runs)
	return map[Operation]definition{
		ListRuns: {
			label: "Runs", command: "roundsman runs", method: "GET", path: "/runs", may: view,
			params: []param{{name: "job_type", label: "Job type", kind: Text, word: "NAME", query: true, optional: true, hidden: true}},
		},
		GetRun: {
			label: "Open", command: "roundsman show", method: "GET", path: "/runs/{run}", may: view, params: []param{runParam()},
		},
		ResumeRun: {
			label: "Resume", effect: "Jobs start again at once.",
			command: "roundsman resume", method: "POST", path: "/runs/{run}/resume", may: operate, params: []param{runParam()},
		},
		PauseRun: {
			label: "Pause", effect: "No more jobs start until it is resumed. Running jobs continue.",
			command: "roundsman pause", method: "POST", path: "/runs/{run}/pause", may: operate, params: []param{runParam(), why("note", "--reason")},
		},
		CancelRun: {
			label: "Cancel", effect: "Running work is stopped, and the rest never starts.", danger: true,
			command: "roundsman cancel", method: "POST", path: "/runs/{run}/cancel", may: operate, params: []param{runParam(), why("reason", "--reason")},
		},
		SetRun: {
			label: "Raise the limit", effect: "It takes effect at once, for this run only.",
			command: "roundsman set", method: "PATCH", path: "/runs/{run}", may: operate,
			params: []param{
				runParam(),
				{name: "setting", label: "Setting", kind: Text, word: "SETTING", silent: true},
				{name: "value", label: "New value", kind: Number, word: "N", after: "setting", joint: "=", setting: true},
			},
		},
		RetryRun: {
			label: "Retry", effect: "Failed, canceled and missed items are executed again.",
			command: "roundsman retry", method: "POST", path: "/runs/{run}/retry", may: operate, params: []param{runParam()},
		},
		ReleaseRun: {
			label: "Release", effect: "The run, held for its failures, ends as it is now.",
			command: "roundsman resume", method: "POST", path: "/runs/{run}/release", may: operate, params: []param{runParam()},
		},
	}
}

func ofItems() map[Operation]definition {
	view, operate := may(access.View, access.Items), may(access.Operate, access.Items)
	one := "/runs/{run}/items/{item}"
	return map[Operation]definition{
		ListItems: {
			label: "Items", command: "roundsman jobs", method: "GET", path: "/runs/{run}/items", may: view, params: []param{runParam()},
		},
		GetItem: {
			label: "Open", command: "roundsman show", method: "GET", path: one, may: view, params: inRun(),
		},
		ApproveItem: {
			label: "Approve", effect: "The task succeeds, and its dependents continue.",
			command: "roundsman approve", method: "POST", path: one + "/approve", may: operate, params: append(inRun(), why("note", "--reason")),
		},
		RejectItem: {
			label: "Reject", effect: "The task fails.", danger: true,
			command: "roundsman reject", method: "POST", path: one + "/reject", may: operate, params: append(inRun(), why("note", "--reason")),
		},
		SkipItem: {
			label: "Skip", effect: "The task counts as done, and its dependents continue.",
			command: "roundsman skip", method: "POST", path: one + "/skip", may: operate, params: append(inRun(), why("reason", "--reason")),
		},
		CancelItem: {
			label: "Cancel", effect: "It is stopped, or never starts.", danger: true,
			command: "roundsman cancel", method: "POST", path: one + "/cancel", may: operate, params: append(inRun(), why("reason", "--reason")),
		},
	}
}

func ofFleet() map[Operation]definition {
	view, operate := may(access.View, access.Workers), may(access.Operate, access.Workers)
	id := param{name: "id", label: "Worker", kind: Text, word: "WORKER"}
	return map[Operation]definition{
		ListWorkers: {label: "Workers", command: "roundsman workers", method: "GET", path: "/workers", may: view},
		GetWorker:   {label: "Open", command: "roundsman show", method: "GET", path: "/workers/{id}", may: view, params: []param{id}},
		UncordonWorker: {
			label: "Uncordon", effect: "It takes work again at once.",
			command: "roundsman resume", method: "POST", path: "/workers/{id}/uncordon", may: operate, params: []param{id},
		},
		CordonWorker: {
			label: "Cordon", effect: "It takes no new work until it is resumed. Running jobs may finish.",
			command: "roundsman pause", method: "POST", path: "/workers/{id}/cordon", may: operate, params: []param{id, why("reason", "--reason")},
		},
		DrainWorker: {
			label: "Drain", effect: "It takes no new work. Running jobs may finish.",
			command: "roundsman drain", method: "POST", path: "/workers/{id}/drain", may: operate, params: []param{id, why("reason", "--reason")},
		},
		ResizeWorker: {
			label: "Resize", effect: "It takes effect at once, and stays over restarts. Jobs above a smaller cap continue.",
			command: "roundsman set", method: "POST", path: "/workers/{id}/resize", may: operate,
			params: []param{
				id,
				{name: "max_execute", label: "Jobs at once", kind: Number, word: "N", lead: "max_execute=", body: "max_execute", unless: "reset"},
				{name: "max_detect", label: "Detections at once", kind: Number, word: "N", lead: "max_detect=", body: "max_detect", optional: true, hidden: true},
				{name: "reset", label: "The size of its start", kind: Checkbox, word: "true", flag: "max_execute=", body: "reset", optional: true, hidden: true},
				why("reason", "--reason"),
			},
		},
		SetPoolSize: {
			label: "Resize", effect: "It takes effect at once, until the next resize. 0 is the declared size.",
			command: "roundsman set", method: "PUT", path: "/pools/{pool}/size", may: may(access.Operate, access.Admission),
			params: []param{{name: "pool", label: "Pool", kind: Text, word: "POOL", lead: "pool/"}, {name: "size", label: "Size", kind: Number, word: "N", lead: "size=", body: "size"}},
		},
	}
}

func ofSystem() map[Operation]definition {
	return map[Operation]definition{
		GetDoctor: {label: "Checks", command: "roundsman doctor", method: "GET", path: "/doctor", may: may(access.View, access.System)},
		Explain: {
			label: "Explain", command: "roundsman explain", method: "GET", path: "/explain", may: may(access.View, access.Runs),
			params: []param{
				{name: "thing", label: "Name", kind: Text, word: "THING", query: true},
				// A page of the console needs the parts of a RUN/ITEM.
				{name: "run", kind: Text, optional: true, hidden: true},
				{name: "item", kind: Text, optional: true, hidden: true},
			},
		},
		ListAudit: {
			label: "Who did that", command: "roundsman audit", method: "GET", path: "/audit", may: may(access.View, access.Audit),
			params: []param{{name: "object", label: "Object", kind: Text, word: "OBJECT", query: true}},
		},
		ListHeld:  {label: "Holds", command: "roundsman holds", method: "GET", path: "/held", may: may(access.View, access.JobTypes)},
		ListNeeds: {label: "Needs a person", command: "roundsman status", method: "GET", path: "/needs", may: may(access.View, access.Runs)},
		ApplyConfiguration: {
			label: "Plan and apply", effect: "The Schedules get the settings of the configuration.",
			command: "roundsman apply", method: "POST", path: "/apply", may: may(access.Change, access.Configuration),
		},
	}
}

func ofShells() map[Operation]definition {
	const process, temporal, absent = "a process is started on its machine", "Temporal does it, not Roundsman", "the API does not have it yet"
	namespace := param{name: "namespace", label: "Namespace", kind: Text, word: "NAMESPACE", flag: "--namespace"}
	retention := param{name: "retention", label: "Kept for", kind: Text, word: "HOURS", flag: "--retention"}
	workflow := []param{{name: "workflow", label: "Workflow", kind: Text, word: "ID", flag: "--workflow-id"}}
	return map[Operation]definition{
		StartDev:    {label: "Start everything here", command: "roundsman dev", shell: process},
		StartServer: {label: "Start a control plane", command: "roundsman server", shell: process},
		StartWorker: {
			label: "Start a worker", command: "roundsman worker", shell: process,
			params: []param{
				{name: "id", label: "Worker", kind: Text, word: "NAME", flag: "--id"},
				{name: "labels", label: "Labels", kind: Text, word: "LABELS", flag: "--labels", optional: true, hidden: true},
			},
		},
		ListReceivers: {label: "Receivers", command: "roundsman receivers", shell: absent},
		TestReceiver: {
			label: "Test", command: "roundsman receivers --test", shell: absent,
			params: []param{{name: "name", label: "Receiver", kind: Text, word: "NAME"}},
		},
		CreateNamespace: {
			label: "Create the namespace", shell: temporal, command: "temporal operator namespace create",
			params: []param{namespace, retention},
		},
		KeepRuns: {
			label: "Keep closed runs longer", shell: temporal, command: "temporal operator namespace update",
			params: []param{namespace, retention},
		},
		CreateSearchAttribute: {
			label: "Create the search attribute", shell: temporal, command: "temporal operator search-attribute create --type Keyword",
			params: []param{namespace, {name: "name", label: "Name", kind: Text, word: "NAME", flag: "--name"}},
		},
		TerminateWorkflow: {
			label: "Give it up", danger: true, shell: temporal, command: "temporal workflow terminate",
			params: workflow,
		},
		UnpauseWorkflow: {
			label: "Unpause", shell: temporal, command: "temporal workflow unpause",
			params: workflow,
		},
	}
}
