package verbs

import (
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func TestResumeRefusesAKindThatTheTargetCannotHave(t *testing.T) {
	t.Parallel()
	tests := []struct {
		what  string
		of    target.Target
		kinds []string
	}{
		{"a job type", target.Target{Kind: ref.JobType, Name: "scrub"}, []string{holdPause, holdBudget}},
		{"a run", target.Target{Run: starter.RunRef{WorkflowID: "dag/nightly/1"}}, []string{holdPause, holdFailure}},
		{"a worker", target.Target{Kind: ref.Worker, Name: "node-a"}, []string{holdPause}},
		{"a key", target.Target{Parsed: ref.Ref{Name: "scrub", Key: "a", HasKey: true}}, []string{holdBudget, holdDone}},
	}
	for _, test := range tests {
		for _, kind := range []string{"", holdPause, holdBudget, holdFailure, holdDone, holdAll} {
			err := checkKind(test.of, kind)
			if kind == "" || kind == holdAll || slices.Contains(test.kinds, kind) {
				require.NoError(t, err, "%s: %s", test.what, kind)
				continue
			}
			require.ErrorContains(t, err, "--kind "+kind+": the kinds of "+test.what+" are "+test.kinds[0])
		}
	}
}

func TestResumeOfARunThatIsPausedAndHeld(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind         string
		paused, held bool
		lifts        string
	}{
		{"", true, false, holdPause},
		{"", false, true, holdFailure},
		{holdAll, true, true, holdAll},
		{holdAll, false, true, holdFailure},
		{holdAll, true, false, holdPause},
	}
	for _, test := range tests {
		lifts, err := kindOfRun("nightly@", test.kind, test.paused, test.held)
		require.NoError(t, err)
		assert.Equal(t, test.lifts, lifts, test)
	}
	_, err := kindOfRun("nightly@", "", true, true)
	require.ErrorContains(t, err, "roundsman resume nightly@ --kind failure")
}

func TestSetRefusesAKeyWithoutAValueAndNoOther(t *testing.T) {
	t.Parallel()
	set := func(words ...string) (target.Effect, error) {
		flags := flag.NewFlagSet("set", flag.ContinueOnError)
		require.NoError(t, flags.Parse(append([]string{"scrub"}, words...)))
		return (&commands{}).setTarget(cli.NewContext(cli.NewApp(), flags, nil), nil, target.Target{Kind: ref.JobType, Name: "scrub"})
	}
	_, err := set("params.token=YWJj=")
	require.NoError(t, err)
	_, err = set("a=1", "b=")
	require.ErrorContains(t, err, "b= has no value")
}
