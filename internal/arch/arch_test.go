package arch

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepository applies all rules to this repository.
func TestRepository(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	repo, err := Load(t.Context(), root)
	require.NoError(t, err)

	// An empty repository keeps every rule: make sure that this one was found.
	self := slices.IndexFunc(repo.Packages, func(p Package) bool { return p.Rel == "internal/arch" })
	require.GreaterOrEqual(t, self, 0, "go list did not report internal/arch")
	require.NotEmpty(t, repo.Packages[self].Files[0].Imports())
	require.NotEmpty(t, repo.RootDeps)
	require.Equal(t, ".", repo.Modules[0].Rel)

	if violations := Check(repo, Rules()); len(violations) > 0 {
		t.Errorf("%d violations of the rules of the house\n%s", len(violations), Report(violations))
	}
}
