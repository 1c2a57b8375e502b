package authoring

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestOperateAloneChangesNothingOfAScheduleButItsInterval(t *testing.T) {
	t.Parallel()
	hour := jobtype.Duration(time.Hour)
	spread := func(every jobtype.Duration) contract.ScheduleSpec {
		return contract.ScheduleSpec{Every: every, Offset: contract.SpreadOffset("scrub", every)}
	}
	with := func(of contract.ScheduleSpec, change func(*contract.ScheduleSpec)) contract.ScheduleSpec {
		change(&of)
		return of
	}
	for name, row := range map[string]struct {
		before, after contract.ScheduleSpec
		want          bool
	}{
		"every, with the offset that follows": {spread(hour), spread(7 * hour), true},
		"every, with a written offset":        {contract.ScheduleSpec{Every: hour, Offset: 60}, contract.ScheduleSpec{Every: 2 * hour, Offset: 60}, true},
		"an offset":                           {spread(hour), with(spread(hour), func(s *contract.ScheduleSpec) { s.Offset++ }), false},
		"an offset with every":                {spread(hour), contract.ScheduleSpec{Every: 2 * hour, Offset: 60}, false},
		"spread: none":                        {spread(hour), contract.ScheduleSpec{Every: hour}, false},
		"jitter":                              {spread(hour), with(spread(hour), func(s *contract.ScheduleSpec) { s.Jitter = 60 }), false},
		"cron":                                {spread(hour), contract.ScheduleSpec{Cron: []string{"0 2 * * *"}}, false},
	} {
		assert.Equal(t, row.want, changesInterval("scrub", row.before, row.after), name)
	}
}

func TestAWrittenSecretIsFound(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{`{"PIN": "1234"}`: true, `{"PIN": "(hidden)"}`: false, `{"PIN": {"secret": "pin"}}`: false, `{}`: false} {
		spec := contract.JobTypeSpec{Name: "scrub", Execute: json.RawMessage(`{"command": ["scrub"], "env": ` + env + `}`)}
		assert.Equal(t, want, writesSecret(spec), env)
	}
}
