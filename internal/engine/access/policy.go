package access

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Subject is an authenticated caller.
type Subject struct {
	// Name of a person; empty for keys and certificates.
	Name string
	// Groups of the person, from the identity provider.
	Groups []string
	// Key is the id of an API key, Certificate the common name of a client's.
	Key, Certificate string
}

// Binding gives a role to the matching callers. Exactly one of Subject, Group, Key and Certificate is set.
type Binding struct {
	Subject     string `json:"subject,omitempty"`
	Group       string `json:"group,omitempty"`
	Key         string `json:"key,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Role        string `json:"role"`
	// Globs, as path.Match reads them. Without any the role holds for everything.
	JobTypes []string `json:"job_types,omitempty"`
	DAGs     []string `json:"dags,omitempty"`
	// Globs. With some the role changes and operates only things that execute no other handler.
	Handlers []string `json:"handlers,omitempty"`
}

// Policy is the custom roles and all bindings.
type Policy struct {
	Roles    []Role
	Bindings []Binding
}

// Validate finds all faults.
func (p Policy) Validate() error {
	var faults []error
	seen := map[string]bool{}
	for _, role := range append(BuiltIn(), p.Roles...) {
		if role.Name == "" || seen[role.Name] {
			faults = append(faults, fmt.Errorf("role %q: needs a name of its own; viewer, operator, admin and worker are built in", role.Name))
		}
		seen[role.Name] = true
	}
	for i, binding := range p.Bindings {
		if err := binding.validate(seen); err != nil {
			faults = append(faults, fmt.Errorf("binding %d: %w", i+1, err))
		}
	}
	return errors.Join(faults...)
}

func (b Binding) validate(roles map[string]bool) error {
	var faults []error
	named := lists.Count([]string{b.Subject, b.Group, b.Key, b.Certificate}, func(who string) bool { return who != "" })
	if named != 1 {
		faults = append(faults, errors.New("name exactly one of subject, group, key and certificate"))
	}
	if !roles[b.Role] {
		faults = append(faults, fmt.Errorf("there is no role %q", b.Role))
	}
	for _, glob := range slices.Concat(b.JobTypes, b.DAGs, b.Handlers) {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			faults = append(faults, fmt.Errorf("%q is no pattern", glob))
		}
	}
	return errors.Join(faults...)
}

// An empty name matches no caller.
func (b Binding) binds(s Subject) bool {
	return b.Subject != "" && b.Subject == s.Name ||
		b.Key != "" && b.Key == s.Key ||
		b.Certificate != "" && b.Certificate == s.Certificate ||
		b.Group != "" && slices.Contains(s.Groups, b.Group)
}

// Rights are the permissions of one subject. The zero value has none.
type Rights struct {
	grants []grant
}

type grant struct {
	role           string
	permissions    []Permission
	jobTypes, dags []string
	handlers       []string
}

// All are the rights of an administrator.
func All() Rights {
	return Rights{grants: []grant{{role: Admin, permissions: []Permission{{Any, Any}}}}}
}

// Rights collects the rights of s. Bindings to missing roles grant nothing.
func (p Policy) Rights(s Subject) Rights {
	var rights Rights
	for _, binding := range p.Bindings {
		if binding.binds(s) {
			rights = rights.And(p.Grant(binding.Role, binding.JobTypes, binding.DAGs, binding.Handlers...))
		}
	}
	return rights
}

// Grant is one role within a scope, as a key has it; no handlers: all.
func (p Policy) Grant(name string, jobTypes, dags []string, handlers ...string) Rights {
	for _, role := range append(BuiltIn(), p.Roles...) {
		if role.Name == name {
			return Rights{grants: []grant{{role: name, permissions: role.Permissions, jobTypes: slices.Clone(jobTypes), dags: slices.Clone(dags), handlers: slices.Clone(handlers)}}}
		}
	}
	return Rights{}
}

// And adds other rights.
func (r Rights) And(other Rights) Rights {
	return Rights{grants: append(slices.Clone(r.grants), other.grants...)}
}

// None reports that nothing is allowed.
func (r Rights) None() bool { return len(r.grants) == 0 }

// Allows reports whether the holder of r has the permission on a thing in that scope.
func (r Rights) Allows(wanted Permission, scope Scope) bool {
	return slices.ContainsFunc(r.grants, func(g grant) bool {
		return g.covers(wanted) && (wanted.Kind == Self || g.within(scope) && g.handles(wanted, scope))
	})
}

// AllowsSome reports whether the holder of r may have the permission on some things: a list needs [Filter].
func (r Rights) AllowsSome(wanted Permission) bool {
	return slices.ContainsFunc(r.grants, func(g grant) bool { return g.covers(wanted) })
}

func (g grant) covers(wanted Permission) bool {
	return wanted == Permission{View, Self} || slices.ContainsFunc(g.permissions, func(p Permission) bool { return p.covers(wanted) })
}

// ByHandler reports whether some grant is limited to handlers, which must then be read before a change.
func (r Rights) ByHandler() bool {
	return slices.ContainsFunc(r.grants, func(g grant) bool { return len(g.handlers) > 0 })
}

func (g grant) scoped() bool { return len(g.jobTypes)+len(g.dags) > 0 }

// Without known handlers the grant allows no change: a new key could have any handler.
func (g grant) handles(wanted Permission, scope Scope) bool {
	switch {
	case len(g.handlers) == 0 || wanted.Verb == View:
		return true
	case wanted.Verb != Work && len(scope.Handlers) == 0:
		return false
	}
	return !slices.ContainsFunc(scope.Handlers, func(handler string) bool { return !matches(g.handlers, handler) })
}

func (g grant) within(scope Scope) bool {
	return !g.scoped() || matches(g.jobTypes, scope.JobType) || matches(g.dags, scope.DAG)
}

func matches(globs []string, name string) bool {
	return name != "" && slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, name)
		return err == nil && matched
	})
}

// Fingerprint is equal for rights with equal grants, so that one holder's results serve all others.
func (r Rights) Fingerprint() string {
	parts := make([]string, len(r.grants))
	for i, g := range r.grants {
		permissions := lists.Map(g.permissions, Permission.String)
		parts[i] = fmt.Sprintf("%q %q %q %q", sorted(permissions), sorted(g.jobTypes), sorted(g.dags), sorted(g.handlers))
	}
	return strings.Join(slices.Compact(sorted(parts)), "\n")
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// Granted describes one grant for its holder.
type Granted struct {
	Role        string   `json:"role"`
	Permissions []string `json:"permissions"`
	JobTypes    []string `json:"job_types,omitempty"`
	DAGs        []string `json:"dags,omitempty"`
	Handlers    []string `json:"handlers,omitempty"`
}

// Granted lists the grants of r.
func (r Rights) Granted() []Granted {
	list := make([]Granted, len(r.grants))
	for i, g := range r.grants {
		list[i] = Granted{Role: g.role, JobTypes: g.jobTypes, DAGs: g.dags, Handlers: g.handlers}
		for _, p := range g.permissions {
			list[i].Permissions = append(list[i].Permissions, p.String())
		}
	}
	return list
}

// Filter keeps the things of a list to which the holder of r may do this.
func Filter[T any](r Rights, wanted Permission, list []T, scope func(T) Scope) []T {
	kept := make([]T, 0, len(list))
	for _, thing := range list {
		if r.Allows(wanted, scope(thing)) {
			kept = append(kept, thing)
		}
	}
	return kept
}
