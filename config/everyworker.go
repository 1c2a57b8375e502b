package config

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

func (l *loader) everyWorker(e entry, read *JobType) {
	on, each := e.node.Get("detect_on"), e.node.Get("each_worker")
	text := string(contract.DetectOnOne)
	l.text(on, e.path+".detect_on", &text)
	known := []string{string(contract.DetectOnOne), string(contract.DetectOnEvery)}
	switch read.DetectOn = contract.DetectOn(text); read.DetectOn {
	case contract.DetectOnOne:
		read.DetectOn = "" // The default has one stored form.
	case contract.DetectOnEvery:
	default:
		l.fault(on.Place(), e.path+".detect_on", "%q is not known%s: use one or every", text, suggest.Clause(text, known))
	}
	l.flag(each, e.path+".each_worker", &read.EachWorker)
	read.Labels = l.labels(e)
	l.flag(e.node.Get("approvals_keep_lane"), e.path+".approvals_keep_lane", &read.ApprovalsKeepLane)
	if written := e.node.Field("approvals_keep_lane"); written != nil && e.node.Get("dag") == nil {
		l.fault(written.At, e.path+".approvals_keep_lane", "has no meaning without dag: only tasks of DAGs wait for approvals")
	}
	every := read.DetectOn == contract.DetectOnEvery
	if every && e.node.Get("dag") != nil {
		l.fault(on.Place(), e.path+".detect_on", "a job type with dag detects nothing: each_worker: true runs the DAG on each worker")
	}
	if read.EachWorker {
		for _, key := range []string{"detect_on", "detect", "batch"} {
			if other := e.node.Field(key); other != nil {
				l.fault(other.At, join(e.path, key), "has no meaning with each_worker, which detects nothing: remove one of them")
			}
		}
	}
	if written := e.node.Field("labels"); written != nil && !every && !read.EachWorker {
		l.fault(written.At, e.path+".labels", "has no meaning without detect_on: every or each_worker: true")
	}
	if (every || read.EachWorker) && read.Policy.Routing == jobtype.RoutingShared {
		l.fault(e.blame("policy", "routing"), e.path+".policy.routing", "shared cannot pin jobs to the workers that they are for: use worker")
	}
}

func (r *reader) labels(e entry) map[string]string {
	written, path := e.node.Get("labels"), e.path+".labels"
	if written == nil {
		return nil
	}
	if written.Kind != yamlread.Object || len(written.Fields) == 0 {
		r.fault(written.Place(), path, "must be an object of labels, like {role: storage}")
		return nil
	}
	labels := make(map[string]string, len(written.Fields))
	for _, f := range written.Fields {
		becomeText(f.Value)
		value := ""
		r.text(f.Value, join(path, f.Key), &value)
		labels[f.Key] = value
	}
	return labels
}
