package access_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/access"
)

// TestAScopeExcludesAHandler: things with another handler are viewed and never changed or
// operated, nor are things without one, such as keys; a worker declares no other one.
func TestAScopeExcludesAHandler(t *testing.T) {
	t.Parallel()
	p := access.Policy{Bindings: []access.Binding{
		{Subject: "ann", Role: access.Admin, Handlers: []string{"scrub", "seaweedfs.*"}},
		{Subject: "bob", Role: access.Worker, Handlers: []string{"scrub"}},
		{Subject: "eve", Role: access.Operator, JobTypes: []string{"night*"}, Handlers: []string{"scrub"}},
	}}
	assert.NoError(t, p.Validate())
	change := access.Permission{Verb: access.Change, Kind: access.Configuration}
	operate := access.Permission{Verb: access.Operate, Kind: access.JobTypes}
	view := access.Permission{Verb: access.View, Kind: access.JobTypes}
	work := access.Permission{Verb: access.Work, Kind: access.Workers}
	keys := access.Permission{Verb: access.Change, Kind: access.Keys}
	of := func(handlers ...string) access.Scope { return access.Scope{JobType: "nightly", Handlers: handlers} }
	for _, row := range []struct {
		who    string
		wanted access.Permission
		where  access.Scope
		may    bool
	}{
		{"ann", change, of("scrub"), true},
		{"ann", change, of("seaweedfs.vacuum", "scrub"), true},
		{"ann", change, of("command"), false},
		{"ann", change, of("scrub", "command"), false},
		{"ann", change, of(), false},
		{"ann", operate, of("command"), false},
		{"ann", view, of(), true},
		{"ann", view, access.Scope{}, true},
		{"ann", keys, access.Scope{}, false},
		{"bob", work, access.Scope{}, true},
		{"bob", work, access.Scope{Handlers: []string{"scrub"}}, true},
		{"bob", work, access.Scope{Handlers: []string{"command"}}, false},
		{"eve", operate, of("scrub"), true},
		{"eve", operate, access.Scope{JobType: "other", Handlers: []string{"scrub"}}, false},
		{"eve", operate, of("command"), false},
	} {
		rights := p.Rights(access.Subject{Name: row.who})
		assert.True(t, rights.ByHandler())
		assert.Equal(t, row.may, rights.Allows(row.wanted, row.where), "%s: %s in %+v", row.who, row.wanted, row.where)
	}
	whole := p.Grant(access.Admin, nil, nil)
	assert.False(t, whole.ByHandler())
	assert.True(t, whole.Allows(change, of()))
	assert.NotEqual(t, whole.Fingerprint(), p.Grant(access.Admin, nil, nil, "scrub").Fingerprint())
	assert.Error(t, access.Policy{Bindings: []access.Binding{{Subject: "ann", Role: access.Admin, Handlers: []string{"["}}}}.Validate())
}
