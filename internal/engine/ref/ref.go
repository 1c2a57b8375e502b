package ref

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Ref is a reference in its parts. Which parts are set depends on the form.
type Ref struct {
	// Text is the reference as it was typed, without surrounding spaces.
	Text string
	// Kind is the KIND of KIND/NAME; empty for all other forms.
	Kind Kind
	// Name is that of a job type, DAG or worker; of KIND/NAME the name of the thing.
	Name string
	// AtRun is set for NAME@…, a run. ID is the part after the @: empty, a selector, a time or an id.
	AtRun bool
	ID    string
	// Workflow is the id of a run's workflow, with its prefix.
	Workflow string
	// Item is the path of an item, ITEM or ITEM/ITEM.
	Item string
	// HasKey is set for TYPE:KEY, NAME@ID:KEY and :KEY. dag:NAME:TASK is a task of all runs of a DAG.
	HasKey bool
	Key    string
}

// Kind is the kind of a thing in KIND/NAME.
type Kind string

// The kinds.
const (
	JobType  Kind = "jobtype"
	Worker   Kind = "worker"
	Lane     Kind = "lane"
	Pool     Kind = "pool"
	Object   Kind = "object"
	Receiver Kind = "receiver"
	APIKey   Kind = "apikey"
	DAG      Kind = "dag"
)

// Kinds lists the kinds.
func Kinds() []Kind { return []Kind{JobType, Worker, Lane, Pool, Object, Receiver, APIKey, DAG} }

// No selector is the open run, or else the newest.
const (
	Open = "open"
	Last = "last"
	Bad  = "bad"
)

const (
	groupPrefix = "group/"
	dagPrefix   = "dag/"
	jobPrefix   = "job-"
)

// forms is the hint of a text that is no reference.
const forms = "write NAME, NAME@, NAME@last, NAME@ID, RUN/ITEM, TYPE:KEY or KIND/NAME"

var (
	jobIDPattern = regexp.MustCompile(`^` + jobPrefix + `[0-9]+$`)
	ticked       = regexp.MustCompile(`^([a-z0-9][a-z0-9_-]*-\d{4}-\d{2}-\d{2}T\d{2}:[0-9:.]+Z)(?:/(.*))?$`)
	// called is the id of a submission or a dry run, without group/. No name of a job type has these parts.
	called = regexp.MustCompile(`^([a-z0-9][a-z0-9_-]*-(?:adhoc|detect)-[^/]+)(?:/(.*))?$`)
)

// Parse reads a reference. It needs no server.
func Parse(text string) (Ref, error) {
	r := Ref{Text: strings.TrimSpace(text)}
	if r.Text == "" {
		return r, fmt.Errorf("the reference is empty: %s", forms)
	}
	if r.workflow() || r.ofKind() {
		if group, _ := strings.CutPrefix(r.Workflow, groupPrefix); jobIDPattern.MatchString(group) {
			return r, fmt.Errorf("%q: the run is missing, write RUN/%s", r.Text, group)
		}
		return r, nil
	}
	end := strings.IndexAny(r.Text, "@:/")
	if end < 0 {
		end = len(r.Text)
	}
	r.Name = r.Text[:end]
	if r.Name == "" && strings.HasPrefix(r.Text, ":") {
		return r, r.key(r.Text[1:])
	}
	if err := jobtype.ValidateName(r.Name); err != nil {
		return r, fmt.Errorf("%q: %w; %s", r.Text, err, forms)
	}
	return r, r.after(r.Text[end:])
}

// The id of a group has two segments, that of a DAG three.
func (r *Ref) workflow() bool {
	text := strings.TrimRight(r.Text, "/")
	if found := ticked.FindStringSubmatch(text); found != nil {
		r.Workflow, r.Item = groupPrefix+found[1], found[2]
		return true
	}
	if found := called.FindStringSubmatch(text); found != nil {
		r.Workflow, r.Item = groupPrefix+found[1], found[2]
		return true
	}
	if rest, group := strings.CutPrefix(text, groupPrefix); group && rest != "" {
		id, item, _ := strings.Cut(rest, "/")
		r.Workflow, r.Item = groupPrefix+id, item
		return true
	}
	if name, rest, ok := contract.DAGOfWorkflow(text); ok {
		id, item, _ := strings.Cut(rest, "/")
		r.Workflow, r.Item = contract.DAGWorkflowID(name, id), item
		return true
	}
	return false
}

// The name may have slashes, and may be empty: all of the kind.
func (r *Ref) ofKind() bool {
	kind, name, ok := strings.Cut(r.Text, "/")
	for _, known := range Kinds() {
		if ok && kind == string(known) {
			r.Kind, r.Name = known, name
			return true
		}
	}
	return false
}

func (r *Ref) after(rest string) error {
	if id, at := strings.CutPrefix(rest, "@"); at {
		end := strings.IndexAny(id, ":/")
		if end < 0 {
			end = len(id)
		}
		r.AtRun, r.ID, rest = true, id[:end], id[end:]
		// The colons of a whole time are part of it.
		if whole := wholeTime.FindString(id); whole != "" {
			r.ID, rest = whole, id[len(whole):]
		}
	}
	switch {
	case strings.HasPrefix(rest, ":"):
		return r.key(rest[1:])
	case strings.HasPrefix(rest, "/"):
		if r.Item = strings.Trim(rest, "/"); r.Item == "" {
			return fmt.Errorf("%q: the item after the / is missing", r.Text)
		}
	}
	return nil
}

func (r *Ref) key(key string) error {
	if key == "" || len(key) > jobtype.MaxDedupeKeyBytes {
		return fmt.Errorf("%q: a dedupe key has 1 to %d bytes", r.Text, jobtype.MaxDedupeKeyBytes)
	}
	r.HasKey, r.Key = true, key
	if name, task, ok := strings.Cut(key, ":"); ok && r.Name == string(DAG) && !r.AtRun && jobtype.ValidateName(name) == nil && task != "" {
		r.Name, r.Key = contract.TasksOf(name), task
	}
	return nil
}

// Bare reports whether the reference is a name and nothing else.
func (r *Ref) Bare() bool {
	return r.Kind == "" && r.Name != "" && !r.AtRun && r.Item == "" && !r.HasKey
}

// File reports whether a text names a file: verbs that read files test it before [Parse].
func File(text string) bool {
	for _, end := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	return text == "-" || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || strings.HasPrefix(text, "/")
}

// ItemID returns the id of an item. In a group, a number is a job, with any number of zeros before it.
func ItemID(path string, group bool) string {
	first, rest, below := strings.Cut(path, "/")
	if number := strings.TrimPrefix(first, jobPrefix); group && digits.MatchString(number) {
		n, _ := strconv.Atoi(number)
		first = fmt.Sprintf("%s%05d", jobPrefix, n)
	}
	if below {
		return first + "/" + rest
	}
	return first
}

// IsJob reports whether the path of an item begins with a job: job-00012, or 12.
func IsJob(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return jobIDPattern.MatchString(first) || digits.MatchString(first)
}

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

// Group reports whether the workflow is a run of a job type.
func (r *Ref) Group() bool { return strings.HasPrefix(r.Workflow, groupPrefix) }

// Whole is the reference of the run alone, without an item or a key.
func (r *Ref) Whole() string {
	switch {
	case r.Workflow != "":
		return r.Workflow
	case r.AtRun:
		return r.Name + "@" + r.ID
	}
	return r.Name
}
