package access_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/engine/access"
)

func permissions() []access.Permission {
	var all []access.Permission
	for _, verb := range access.Verbs() {
		for _, kind := range access.Kinds() {
			all = append(all, access.Permission{Verb: verb, Kind: kind})
		}
	}
	return all
}

func names(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"scrub", "vacuum", "scrub_*", "*", "v?cuum", "[a-s]*"}), 0, 3).Draw(t, label)
}

func scope(t *rapid.T) access.Scope {
	some := rapid.SampledFrom([]string{"", "scrub", "vacuum", "scrub_deep", "nightly"})
	return access.Scope{JobType: some.Draw(t, "job type"), DAG: some.Draw(t, "dag")}
}

func policy(t *rapid.T) access.Policy {
	var p access.Policy
	p.Roles = []access.Role{{Name: "auditor", Permissions: []access.Permission{{Verb: access.View, Kind: access.Audit}}}}
	for range rapid.IntRange(0, 5).Draw(t, "bindings") {
		p.Bindings = append(p.Bindings, access.Binding{
			Subject: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "subject"),
			Role:    rapid.SampledFrom([]string{"viewer", "operator", "admin", "worker", "auditor"}).Draw(t, "role"), JobTypes: names(t, "types"), DAGs: names(t, "dags"),
		})
	}
	return p
}

// A subject without a binding may nothing, and no binding of another one changes that.
func TestNothingWithoutABinding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rights := policy(t).Rights(access.Subject{Name: "eve", Groups: []string{""}})
		wanted, where := rapid.SampledFrom(permissions()).Draw(t, "wanted"), scope(t)
		assert.False(t, rights.Allows(wanted, where))
		assert.False(t, rights.AllowsSome(wanted))
	})
}

// Another binding never takes a right away, and rights are the union of the grants.
func TestRightsOnlyGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, wanted, where := policy(t), rapid.SampledFrom(permissions()).Draw(t, "wanted"), scope(t)
		some := false
		for _, binding := range p.Bindings {
			one := access.Policy{Roles: p.Roles, Bindings: []access.Binding{binding}}
			some = some || one.Rights(access.Subject{Name: "ann"}).Allows(wanted, where)
		}
		assert.Equal(t, some, p.Rights(access.Subject{Name: "ann"}).Allows(wanted, where))
	})
}

// A filter keeps exactly the things that Allows allows.
func TestListsAreFilteredByTheSameFunction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rights, wanted := policy(t).Rights(access.Subject{Name: "ann"}), rapid.SampledFrom(permissions()).Draw(t, "wanted")
		list := rapid.SliceOfN(rapid.Custom(scope), 0, 8).Draw(t, "list")
		kept := access.Filter(rights, wanted, list, func(s access.Scope) access.Scope { return s })
		var want []access.Scope
		for _, each := range list {
			if rights.Allows(wanted, each) {
				want = append(want, each)
				assert.True(t, rights.AllowsSome(wanted))
			}
		}
		assert.ElementsMatch(t, want, kept)
	})
}

// Rights with the same fingerprint allow the same.
func TestFingerprintsStandForRights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := policy(t)
		ann, bob := p.Rights(access.Subject{Name: "ann"}), p.Rights(access.Subject{Name: "bob"})
		if ann.Fingerprint() != bob.Fingerprint() {
			return
		}
		for _, wanted := range permissions() {
			where := scope(t)
			assert.Equal(t, ann.Allows(wanted, where), bob.Allows(wanted, where), wanted)
		}
	})
}

// A binding with globs grants nothing on things that belong to nothing.
func TestScopedBindingsSeeNoWorkers(t *testing.T) {
	t.Parallel()
	p := access.Policy{Bindings: []access.Binding{{Group: "sre", Role: access.Admin, JobTypes: []string{"*"}, DAGs: []string{"*"}}}}
	rights := p.Rights(access.Subject{Name: "ann", Groups: []string{"sre"}})
	assert.False(t, rights.Allows(access.Permission{Verb: access.View, Kind: access.Workers}, access.Scope{}))
	assert.True(t, rights.Allows(access.Permission{Verb: access.Operate, Kind: access.Runs}, access.Scope{DAG: "nightly"}))
	assert.True(t, rights.Allows(access.Permission{Verb: access.View, Kind: access.Self}, access.Scope{}), "its holder may ask who they are")
}

func TestBuiltInRoles(t *testing.T) {
	t.Parallel()
	var p access.Policy
	for _, row := range []struct {
		role   string
		wanted string
		may    bool
	}{
		{"viewer", "view runs", true},
		{"viewer", "operate runs", false},
		{"viewer", "view configuration", false},
		{"viewer", "view keys", false},
		{"operator", "operate workers", true},
		{"operator", "change configuration", false},
		{"operator", "work workers", false},
		{"operator", "view keys", false},
		{"admin", "change keys", true},
		{"worker", "work workers", true},
		{"worker", "view workers", false},
		{"worker", "view self", true},
		{"ghost", "view self", false},
	} {
		wanted, err := access.ParsePermission(row.wanted)
		require.NoError(t, err)
		assert.Equal(t, row.may, p.Grant(row.role, nil, nil).Allows(wanted, access.Scope{}), "%s: %s", row.role, row.wanted)
	}
}

func TestPoliciesAreChecked(t *testing.T) {
	t.Parallel()
	faulty := access.Policy{
		Roles: []access.Role{{Name: "viewer"}},
		Bindings: []access.Binding{
			{Role: "viewer"},
			{Subject: "ann", Group: "sre", Role: "viewer"},
			{Subject: "ann", Role: "king"},
			{Subject: "ann", Role: "viewer", JobTypes: []string{"["}},
			{Subject: "ann", Role: "viewer", DAGs: []string{"nightly*"}},
		},
	}
	err := faulty.Validate()
	require.Error(t, err)
	for _, text := range []string{`role "viewer"`, "binding 1", "binding 2", `no role "king"`, `"[" is no pattern`} {
		assert.ErrorContains(t, err, text)
	}
	assert.NotContains(t, err.Error(), "binding 5")
	for _, text := range []string{"view", "see runs", "view walls"} {
		_, err := access.ParsePermission(text)
		assert.Error(t, err, text)
	}
}
