package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

func loadAccess(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Options{Sources: []config.Source{{Name: "a.yaml", Data: []byte("version: 1\n" + text)}}})
}

func TestAccessIsRead(t *testing.T) {
	t.Parallel()
	loaded, err := loadAccess(t, `access:
  keys: true
  hosts: [roundsman.example]
  proxies: [10.0.0.0/8]
  roles:
    auditor: [view audit, view runs]
  bindings:
    - {group: sre, role: operator, job_types: "scrub*"}
    - {subject: ann@example.org, role: auditor}
`)
	require.NoError(t, err)
	assert.True(t, loaded.Access.LogIn())
	assert.Equal(t, []string{"scrub*"}, loaded.Access.Bindings[0].JobTypes)
	assert.Equal(t, "view audit", loaded.Access.Roles[0].Permissions[0].String())
	none, err := loadAccess(t, "")
	require.NoError(t, err)
	assert.False(t, none.Access.LogIn())
}

// Every fault is found at once, with its line.
func TestFaultsOfAccess(t *testing.T) {
	t.Parallel()
	_, err := loadAccess(t, `access:
  kees: true
  base_path: roundsman/
  proxies: [10.0.0.0]
  client_ca: ca.pem
  roles:
    auditor: [see audit]
  bindings:
    - {group: sre, rule: operator}
    - {subject: ann, role: king}
  oidc: {issuer: http://id.example, client_id: x, redirect_url: https://r.example/auth/callback}
`)
	var faults config.Faults
	require.ErrorAs(t, err, &faults)
	lines := map[int]bool{}
	for _, fault := range faults {
		lines[fault.Line] = true
	}
	for _, line := range []int{3, 4, 5, 6, 8, 10, 11, 12} {
		assert.True(t, lines[line], "line %d in\n%v", line, err)
	}
	assert.ErrorContains(t, err, "groups is missing")
	assert.ErrorContains(t, err, `no role "king"`)
}

func TestABasePathIsWrittenAsAPath(t *testing.T) {
	t.Parallel()
	for _, faulty := range []string{"ops", "/ops/", "/a b", "/a?b"} {
		_, err := loadAccess(t, "access: {base_path: '"+faulty+"'}\n")
		assert.ErrorContains(t, err, "write it like /roundsman", faulty)
	}
	_, err := loadAccess(t, "access: {base_path: /ops/roundsman}\n")
	assert.NoError(t, err)
}
