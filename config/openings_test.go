package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// steps loads job types of one form and returns the number of steps above before.
func steps(t *testing.T, before int, head, form string, count int) (int, error) {
	t.Helper()
	text := &strings.Builder{}
	fmt.Fprintf(text, "version: 1\n%sjob_types:\n", head)
	for i := range count {
		fmt.Fprintf(text, "  t%d: {handler: scan, %s}\n", i, strings.ReplaceAll(form, "NUMBER", fmt.Sprintf("%02d:%02d", i/60%24, i%60)))
	}
	l := newLoader(Options{
		Sources:  []Source{{Name: "fleet.yaml", Data: []byte(text.String())}},
		Handlers: []jobtype.Descriptor{{Name: "scan"}},
	})
	l.steps = before
	l.config(l.read())
	if len(l.faults) > 0 {
		return l.steps - before, l.faults
	}
	return l.steps - before, nil
}

func entriesOf(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf(`{from: "%02d:%02d", to: "%02d:%02d"}`, i%24, i/24*10, i%24, i/24*10+5)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// Shared calendars are compared once. A cron expression outside all windows costs a step per window, not per
// tick.
func TestCalendarsTakeFewSteps(t *testing.T) {
	t.Parallel()
	const year = 366
	for what, c := range map[string]struct {
		head, form  string
		count, most int
	}{
		"cron":          {"", `schedule: {cron: "0 2 * * *"}`, 1000, 1000 * stepsOfCron},
		"lane":          {"lanes: {night: {windows: " + entriesOf(100) + "}}\n", "lane: night, schedule: {every: 1h}", 1000, 100 * year},
		"same windows":  {"", "schedule: {every: 1h}, windows: " + entriesOf(10), 100, 10 * year},
		"other windows": {"", `schedule: {every: 1h}, windows: [{from: "NUMBER", to: "23:59"}]`, 100, 100 * year},
		"never meets": {
			"", `schedule: {cron: "* 0-11 * * *"}, windows: [{from: "14:00", to: "15:00"}]`, 1,
			stepsOfCron + year + stepsOfTick*(year+1),
		},
	} {
		took, err := steps(t, 0, c.head, c.form, c.count)
		require.NoError(t, err, what)
		assert.Positive(t, took, what)
		assert.LessOrEqual(t, took, c.most, what)
	}
}

// The first job type over the budget gets the only fault.
func TestAConfigurationHasABudgetOfSteps(t *testing.T) {
	t.Parallel()
	const left = 10_000
	form := `schedule: {cron: "* 0-11 * * *"}, windows: [{from: "NUMBER", to: "23:59"}]`
	took, err := steps(t, maxSteps-left, "", form, left/500)
	require.NoError(t, err)
	assert.LessOrEqual(t, took, left)
	took, err = steps(t, maxSteps-left, "", form, 300)
	require.Error(t, err)
	faults, are := err.(Faults) //nolint:errorlint // the loader's own
	require.True(t, are)
	require.Len(t, faults, 1, "%v", err)
	assert.Contains(t, faults[0].Message, "steps, the limit: share windows")
	assert.Positive(t, faults[0].Line)
	assert.Less(t, took, left+366, "the others take none")
}

// The result is compared with all ticks of a year.
func TestMeetsFindsAWindowThatIsRarelyMet(t *testing.T) {
	t.Parallel()
	const never = "no tick of the schedule falls into a window"
	for form, met := range map[string]bool{
		`schedule: {cron: "0 2 29 2 *"}, windows: [{days: [thu], from: "01:00", to: "03:00"}]`:         true,
		`schedule: {cron: "0 2 * * mon"}, windows: [{days: [thu], from: "01:00", to: "03:00"}]`:        true, // It waits for a week.
		`schedule: {cron: "0,1 2 * * mon"}, windows: [{days: [thu], from: "01:00", to: "03:00"}]`:      false,
		`schedule: {cron: "* 0-11 * * *"}, windows: [{from: "14:00", to: "15:00"}]`:                    false,
		`schedule: {cron: "* 0-11 * * *"}, windows: [{from: "12:00", to: "15:00"}]`:                    true, // 11:59 waits for a minute.
		`schedule: {cron: ["* 0-11 * * *", "0 14 1 12 *"]}, windows: [{from: "14:00", to: "15:00"}]`:   true,
		`schedule: {cron: "0 5 * * *"}, windows: [{from: "06:00", to: "07:00", timezone: Asia/Tokyo}]`: true,
	} {
		loaded, err := Load(Options{
			Sources:  []Source{{Name: "fleet.yaml", Data: []byte("version: 1\njob_types: {one: {handler: scan, " + form + "}}\n")}},
			Handlers: []jobtype.Descriptor{{Name: "scan"}},
		})
		require.NoError(t, err, form)
		assert.Equal(t, !met, strings.Contains(fmt.Sprint(loaded.Warnings), never), "%s: %v", form, loaded.Warnings)
	}
}
