package config

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/folder"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// dag compiles a job type's DAG with its params, so that a run finds only its own faults.
func (l *loader) dag(e entry, read JobType) *contract.DAGSource {
	written := e.node.Get("dag")
	if written == nil {
		return nil
	}
	for _, key := range []string{"handler", "batch", "detect", "execute"} {
		if other := e.node.Field(key); other != nil {
			l.fault(other.At, join(e.path, key), "has no meaning in a job type with dag, whose tasks have their own work; remove one of them")
		}
	}
	file, at := "", e.path+".dag"
	l.text(written, at, &file)
	if file == "" {
		if written.Kind == yamlread.Text {
			l.fault(written.Place(), at, "is empty: name the file of the DAG")
		}
		return nil
	}
	below := l.folders[written.Place().File]
	if below == nil {
		l.fault(written.Place(), at, "%s", noFiles)
		return nil
	}
	files := &tree{Folder: below, texts: map[string]string{}}
	file = path.Clean(filepath.ToSlash(file))
	text, err := files.ReadFile(file)
	if err != nil {
		l.fault(written.Place(), at, "cannot be read: %s: name a file at or below %s", err, below)
		return nil
	}
	delete(files.texts, file)
	loaded, err := spec.Load(file, text)
	if err == nil {
		err = l.dagParams(e, loaded)
	}
	if err == nil {
		var compiled *spec.Compiled
		if compiled, err = spec.Compile(loaded, files); err == nil {
			l.warnings = append(l.warnings, l.ofDAG(at, below, compiled.Warnings())...)
		}
	}
	if err != nil {
		l.dagFaults(written, at, below, err)
		return nil
	}
	if limit := read.Policy.ExecutionTimeout; loaded.Deadline > limit {
		l.warn(written.Place(), at, "the deadline of %s, %s, is longer than policy.execution_timeout, %s, which ends it first", loaded.Name, loaded.Deadline, limit)
	}
	return &contract.DAGSource{Name: loaded.Name, File: file, Text: string(text), Files: files.texts}
}

func (l *loader) dagParams(e entry, loaded *spec.Spec) error {
	params := e.node.Get("params")
	if params == nil || params.Kind != yamlread.Object {
		return nil
	}
	values, _ := params.Plain().(map[string]any)
	for _, err := range joined(loaded.SetParams(values)) {
		refused, ok := errors.AsType[*spec.ParamError](err)
		if !ok {
			return err
		}
		l.fault(e.keyPlace([]string{"params"}, refused.Key), join(e.path+".params", refused.Key), "%s", refused.Message)
	}
	return nil
}

func (r *reader) dagFaults(written *yamlread.Node, at string, below folder.Folder, err error) {
	faults, ok := errors.AsType[spec.Faults](err)
	if !ok {
		r.fault(written.Place(), at, "%s", err)
		return
	}
	r.faults = append(r.faults, r.ofDAG(at, below, faults)...)
}

func (r *reader) ofDAG(at string, below folder.Folder, faults spec.Faults) Faults {
	converted := make(Faults, 0, len(faults))
	for _, fault := range faults {
		file := below.Place(fault.File)
		if _, ranked := r.rank[file]; !ranked {
			r.rank[file] = len(r.rank)
		}
		converted = append(converted, Fault{File: file, Line: fault.Line, Column: fault.Column, Path: at, Message: fault.Message})
	}
	return converted
}

// Policy settings of handlers only. The tasks of a DAG have their own.
var handlerSettings = []string{ //nolint:gochecknoglobals // a list that never changes
	"detection_timeout", "max_jobs_per_detection", "per_worker_execution_concurrency", "liveness", "stall_timeout", "progress_timeout",
	"worker_loss_limit", "on_worker_loss", "on_disconnect", "stop_after", "routing", "interactive",
}

func (l *loader) dagOddities(e entry) {
	policy := e.node.Get("policy")
	for _, key := range handlerSettings {
		if policy.Get(key) != nil {
			l.warn(e.blame("policy", key), e.path+".policy."+key, "has no effect in a job type with dag: set it on the tasks")
		}
	}
}

// dagPolicy gives the DAG the time of the whole group by default.
func dagPolicy(e entry, policy *jobtype.Policy) {
	if e.node.Get("dag") != nil && e.node.Get("policy").Get("execution_timeout") == nil {
		policy.ExecutionTimeout = policy.MaxRuntime
	}
}

type tree struct {
	folder.Folder

	texts map[string]string
}

// ReadFile implements [spec.Files].
func (t *tree) ReadFile(name string) ([]byte, error) {
	data, err := t.Read(name, maxSpecBytes)
	if errors.Is(err, folder.ErrTooLong) {
		err = fmt.Errorf("%s has more than %d bytes, which a job type may have", name, maxSpecBytes)
	}
	if err == nil {
		t.texts[name] = string(data)
	}
	return data, err
}
