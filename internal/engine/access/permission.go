package access

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is an action on a kind of thing.
type Verb string

const (
	// View reads.
	View Verb = "view"
	// Operate acts on existing things: pause, resume, run, cancel, retry, approve, drain, set until the next apply.
	Operate Verb = "operate"
	// Change replaces existing things: apply a configuration, create and revoke keys.
	Change Verb = "change"
	// Work is the protocol of workers: register, poll, report.
	Work Verb = "work"
)

// Kind is a kind of thing.
type Kind string

// The kinds.
const (
	JobTypes      Kind = "job-types"
	Runs          Kind = "runs"
	Items         Kind = "items"
	Workers       Kind = "workers"
	Admission     Kind = "admission"
	Handlers      Kind = "handlers"
	Configuration Kind = "configuration"
	Audit         Kind = "audit"
	Keys          Kind = "keys"
	System        Kind = "system"
	// Self is the caller: everyone who is known may view it.
	Self Kind = "self"
)

// Verbs lists all verbs, Kinds all kinds.
func Verbs() []Verb { return []Verb{View, Operate, Change, Work} }

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{JobTypes, Runs, Items, Workers, Admission, Handlers, Configuration, Audit, Keys, System, Self}
}

// Any stands for every verb or every kind in a role.
const Any = "*"

// Permission is a verb on a kind of thing.
type Permission struct {
	Verb Verb `json:"verb"`
	Kind Kind `json:"kind"`
}

// String is "verb kind", which [ParsePermission] reads.
func (p Permission) String() string { return string(p.Verb) + " " + string(p.Kind) }

// ParsePermission reads "verb kind"; either may be *.
func ParsePermission(text string) (Permission, error) {
	verb, kind, found := strings.Cut(text, " ")
	switch {
	case !found:
		return Permission{}, fmt.Errorf("permission %q: write it as VERB KIND, like `operate runs`", text)
	case verb != Any && !slices.Contains(Verbs(), Verb(verb)):
		return Permission{}, fmt.Errorf("permission %q: the verb must be one of %v, or *", text, Verbs())
	case kind != Any && !slices.Contains(Kinds(), Kind(kind)):
		return Permission{}, fmt.Errorf("permission %q: the kind must be one of %v, or *", text, Kinds())
	}
	return Permission{Verb: Verb(verb), Kind: Kind(kind)}, nil
}

func (p Permission) covers(wanted Permission) bool {
	return (p.Verb == Any || p.Verb == wanted.Verb) && (p.Kind == Any || p.Kind == wanted.Kind)
}

// Scope is the job type or DAG of a thing. The zero value has neither.
type Scope struct {
	JobType string `json:"job_type,omitempty"`
	DAG     string `json:"dag,omitempty"`
	// Handlers lists the executed handlers. It is empty if they are unknown.
	Handlers []string `json:"handlers,omitempty"`
}

// Role is a named set of permissions.
type Role struct {
	Name        string       `json:"name"`
	Permissions []Permission `json:"permissions"`
}

// The names of the built-in roles.
const (
	Viewer   = "viewer"
	Operator = "operator"
	Admin    = "admin"
	Worker   = "worker"
)

// BuiltIn are the roles that need no definition. Only admin sees or changes keys.
func BuiltIn() []Role {
	var view, operate []Permission
	for _, kind := range []Kind{JobTypes, Runs, Items, Workers, Admission, Handlers, Audit, System} {
		view = append(view, Permission{View, kind})
	}
	for _, kind := range []Kind{JobTypes, Runs, Items, Workers, Admission} {
		operate = append(operate, Permission{Operate, kind})
	}
	return []Role{
		{Viewer, view},
		{Operator, append(slices.Clone(view), append(operate, Permission{View, Configuration})...)},
		{Admin, []Permission{{Any, Any}}},
		{Worker, []Permission{{Work, Workers}}},
	}
}
