package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestSettingsOfControlPlanes(t *testing.T) {
	t.Parallel()
	plane := func(identity, fleet string) contract.ControlPlane {
		return contract.ControlPlane{Identity: identity, Settings: map[string]string{"fleet": fleet, "audit": "entries: 4000"}}
	}
	found := contract.ThresholdsResult{Planes: []contract.ControlPlane{plane("a", "offline_after: 6m"), plane("gone", "x"), plane("b", "")}}
	assert.Empty(t, settingsOf(found, []string{"b", "older"}), "one says nothing about others")
	differ := settingsOf(found, []string{"a", "b"})
	assert.Equal(t, VerdictWarn, differ[0].Verdict)
	assert.Equal(t, "control planes a and b differ in fleet (offline_after: 6m against none)", differ[0].Found)
	found.Planes[2] = plane("b", "offline_after: 6m")
	assert.Equal(t, []Check{{Name: "settings", Verdict: VerdictOK, Found: "2 control planes have the same"}}, settingsOf(found, []string{"a", "b"}))
}
