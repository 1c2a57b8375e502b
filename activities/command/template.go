package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/bash"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/runview"
	"github.com/roundsman/roundsman/jobtype"
)

// detectFields and executeFields are the top-level fields of templates.
var (
	detectFields  = []string{"Params", "Cluster", "Detect", "Run", "Schedule", "Worker"}       //nolint:gochecknoglobals // constant table
	executeFields = []string{"Params", "Cluster", "Job", "Batch", "Run", "Schedule", "Worker"} //nolint:gochecknoglobals // constant table

	// views are the types of the variables that have fixed fields.
	views = map[string]reflect.Type{ //nolint:gochecknoglobals // constant table
		"Job": reflect.TypeFor[jobView](), "Detect": reflect.TypeFor[detectView](), "Item": reflect.TypeFor[itemView](),
		"Run": reflect.TypeFor[runview.Run](), "Schedule": reflect.TypeFor[runview.Schedule](), "Worker": reflect.TypeFor[runview.Worker](),
	}
)

// jobView is .Job in the templates of `execute`.
type jobView struct {
	ID, GroupID, JobType, DedupeKey, Summary, Detail, WorkerID string
	Labels                                                     map[string]string
	Attempt                                                    int
	Fence                                                      int64
	Deadline                                                   time.Time
}

// detectView is .Detect in the templates of `detect`.
type detectView struct {
	JobType, WorkerID string
	LastSuccess       time.Time
	Sequence          int64
	MaxResults        int
	DryRun            bool
}

// executeData returns the fields for the templates of `execute`; params are the standard input of the program.
func executeData(job jobtype.Job, params json.RawMessage) (map[string]any, error) {
	items, err := itemViews(job)
	if err != nil {
		return nil, err
	}
	plainParams, cluster, err := plainBlocks(params, job.Cluster)
	data := map[string]any{"Params": plainParams, "Cluster": cluster, "Batch": items, "Worker": runview.Worker{ID: job.WorkerID, Labels: job.WorkerLabels}, "Job": jobView{
		ID: job.ID, GroupID: job.GroupID, JobType: job.JobType, DedupeKey: job.DedupeKey, Summary: job.Summary, Detail: job.Detail,
		WorkerID: job.WorkerID, Labels: job.Labels, Attempt: job.Attempt, Fence: job.Fence, Deadline: job.Deadline,
	}}
	runview.Add(data, job.Run, job.JobType)
	return data, err
}

func detectData(in jobtype.DetectInput) (map[string]any, error) {
	params, cluster, err := plainBlocks(in.Params, in.Cluster)
	data := map[string]any{"Params": params, "Cluster": cluster, "Worker": runview.Worker{ID: in.WorkerID, Labels: in.WorkerLabels}, "Detect": detectView{
		JobType: in.JobType, WorkerID: in.WorkerID, LastSuccess: in.LastSuccess, Sequence: in.Sequence, MaxResults: in.MaxResults, DryRun: in.DryRun,
	}}
	runview.Add(data, in.Run, in.JobType)
	return data, err
}

func plainBlocks(params, cluster json.RawMessage) (any, any, error) {
	plainParams, err := gotemplate.Plain("params", params)
	if err != nil {
		return nil, nil, err
	}
	plainCluster, err := gotemplate.Plain("cluster", cluster)
	return plainParams, plainCluster, err
}

func render(name, text string, data map[string]any) (string, error) {
	if !gotemplate.Templated(text) {
		return text, nil
	}
	parsed, err := gotemplate.Trusted(name, text)
	if err != nil {
		return "", err
	}
	return parsed.Execute(data)
}

type rendered struct {
	argv []string
	launch.Spec
}

func (s settings) render(block string, data map[string]any) (rendered, error) {
	var out rendered
	var err error
	put := func(name, text string) string {
		if err != nil {
			return ""
		}
		var value string
		if value, err = render(name, text, data); err == nil {
			err = passable(value)
		}
		if err != nil {
			err = fmt.Errorf("%s.%s: %w", block, name, err)
		}
		return value
	}
	for _, argument := range s.argv {
		err = errors.Join(err, passable(argument))
	}
	out.argv = slices.Clone(s.argv)
	for i, argument := range s.Command {
		name := fmt.Sprintf("command[%d]", i)
		each, repeats := repeated(block, argument)
		if !repeats {
			out.argv = append(out.argv, put(name, argument))
			continue
		}
		items, _ := data["Batch"].([]itemView)
		for _, item := range items {
			data["Item"] = item
			out.argv = append(out.argv, put(name, each))
		}
		delete(data, "Item")
	}
	out.Spec = s.Map(put)
	if s.Shell != "" {
		if wrong := s.script(block, &out, put); wrong != nil {
			err = errors.Join(err, wrong)
		}
	}
	if err == nil {
		err = s.unnamed(block, out.Spec)
	}
	if err == nil && out.argv[0] == "" {
		err = fmt.Errorf("%s.command[0]: the template rendered to nothing, so there is no program to start", block)
	}
	return out, err
}

// script puts the values into variables.
func (s settings) script(block string, out *rendered, put func(name, text string) string) error {
	read, err := bash.Templated(s.Shell)
	if err != nil {
		return fmt.Errorf("%s.shell: %w", block, err)
	}
	out.argv = read.Argv
	env := maps.Clone(out.Env)
	if env == nil && len(read.Values) > 0 {
		env = map[string]launch.Value{}
	}
	for _, name := range slices.Sorted(maps.Keys(read.Values)) {
		env[name] = launch.Value{Text: put("shell", read.Values[name])}
	}
	out.Env = env
	return nil
}

// unnamed refuses an empty user, group or secret: the program would run as the worker, or without its secret.
func (s settings) unnamed(block string, ready launch.Spec) error {
	switch {
	case s.User != "" && ready.User == "":
		return fmt.Errorf("%s.user: the template rendered to nothing", block)
	case s.Group != "" && ready.Group == "":
		return fmt.Errorf("%s.group: the template rendered to nothing", block)
	case slices.Contains(ready.Groups, ""):
		return fmt.Errorf("%s.groups: a template rendered to nothing", block)
	}
	for _, one := range ready.Hooks.All() {
		if one.Command[0] == "" {
			return fmt.Errorf("%s.hooks.%s[0]: the template rendered to nothing", block, one.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if s.Env[key].Secret() && !ready.Env[key].Secret() {
			return fmt.Errorf("%s.env.%s: the template rendered to nothing", block, key)
		}
	}
	return nil
}

func passable(value string) error {
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("the value %q holds a NUL byte, which no program can be given", value)
	}
	return nil
}

func (s settings) templateFaults(block string, fields []string) []error {
	var faults []error
	checkWith := func(name, text string, fields []string) {
		if !gotemplate.Templated(text) {
			return
		}
		refs, found := gotemplate.Scan(text, fields)
		for _, ref := range refs {
			if view, fixed := views[ref.Root]; fixed {
				if wrong := runview.Fault(ref.Root, view, ref.Path); wrong != "" {
					found = append(found, errors.New(ref.Where()+wrong))
				}
			}
		}
		for _, err := range found {
			faults = append(faults, fmt.Errorf("%s.%s: %w", block, name, err))
		}
	}
	check := func(name, text string) { checkWith(name, text, fields) }
	for i, argument := range s.Command {
		name := fmt.Sprintf("command[%d]", i)
		each, repeats := repeated(block, argument)
		switch {
		case repeats && i == 0:
			faults = append(faults, fmt.Errorf("%s.%s: it names the program, which is one: begin an argument with %s", block, name, eachMark))
		case repeats:
			checkWith(name, each, append(slices.Clone(fields), "Item"))
		default:
			check(name, argument)
		}
	}
	if s.Shell != "" {
		check("shell", s.Shell)
		if _, err := bash.Templated(s.Shell); err != nil && len(faults) == 0 {
			faults = append(faults, fmt.Errorf("%s.shell: %w", block, err))
		}
	}
	s.Map(func(path, text string) string { check(path, text); return text })
	return faults
}
