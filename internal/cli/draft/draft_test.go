package draft

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/jobtype"
)

var update = flag.Bool("update", false, "write the expected drafts")

// TestADraftNamesTheBinary: its comment has the next commands.
func TestADraftNamesTheBinary(t *testing.T) {
	t.Parallel()
	draft, err := write(nil, nil, [2]string{"role", "web"}, "crontab", ui.NewRenaming("acme", []string{"validate", "plan", "apply", "worker"}))
	require.NoError(t, err)
	assert.Contains(t, string(draft), "acme validate, acme plan, acme apply")
	assert.NotContains(t, string(draft), "roundsman")
}

func golden(t *testing.T, name string, entries []entry, notes []string) {
	t.Helper()
	draft, err := write(entries, notes, [2]string{"role", "web"}, name, nil)
	require.NoError(t, err)
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		require.NoError(t, os.WriteFile(path, draft, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(draft), "go test ./internal/cli/draft -update")
	handler := command.New(command.Options{})
	_, err = config.Load(config.Options{
		Sources: []config.Source{{Name: "draft", Data: draft}}, Handlers: []jobtype.Descriptor{handler.Descriptor()},
		Validators: map[string]jobtype.SettingsValidator{command.Name: handler},
	})
	require.NoError(t, err, "a draft is valid")
}

func TestCrontab(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "crontab.txt"))
	require.NoError(t, err)
	entries, notes := fromCrontab(string(text), false, "Europe/Berlin")
	golden(t, "crontab", entries, notes)
}

func TestSystemCrontabNamesTheUser(t *testing.T) {
	t.Parallel()
	entries, notes := fromCrontab("17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n", true, "UTC")
	require.Empty(t, notes)
	require.Len(t, entries, 1)
	assert.Equal(t, "root", entries[0].user)
	assert.Equal(t, "run-parts", entries[0].name)
	assert.Equal(t, []string{"17 * * * *"}, entries[0].cron)
	assert.Equal(t, []string{"/bin/sh", "-c", "cd / && run-parts --report /etc/cron.hourly"}, entries[0].command)
}

func TestTimers(t *testing.T) {
	t.Parallel()
	entries, notes, err := fromTimers(os.DirFS(filepath.Join("testdata", "timers")), "UTC")
	require.NoError(t, err)
	golden(t, "timers", entries, notes)
}

// The cases are examples of systemd.time(7).
func TestCalendarExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Sat,Thu,Mon..Wed *-*-* 00:00:00": "0 0 * * 6,4,1-3",
		"Mon,Sun 12:00":                   "0 12 * * 1,0",
		"Fri..Sun 12:00":                  "0 12 * * 5-6,0",
		"*-*-01 00:00:00":                 "0 0 1 * *",
		"*:0/15":                          "0-59/15 * * * *",
		"*:2/3":                           "2-59/3 * * * *",
		"08:05":                           "5 8 * * *",
		"*-05-03 05:40":                   "40 5 3 5 *",
		"05:08:00":                        "8 5 * * *",
		"8..17/2:30":                      "30 8-17/2 * * *",
		"monthly":                         "0 0 1 * *",
		"quarterly":                       "0 0 1 1,4,7,10 *",
		"weekly":                          "0 0 * * 1",
	} {
		cron, zone, err := fromCalendar(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, cron, text)
		assert.Empty(t, zone)
		_, err = crontab.Parse(cron)
		require.NoError(t, err, "%s gives %s", text, cron)
	}
	cron, zone, err := fromCalendar("daily Pacific/Auckland")
	require.NoError(t, err)
	assert.Equal(t, []string{"0 0 * * *", "Pacific/Auckland"}, []string{cron, zone})
	for _, text := range []string{"Mon *-*-01..07 04:00", "2003-02-05 12:00", "05:08:05", "*-*~01", "tomorrow", "*:*:30", "10-15", "Mon..x"} {
		if cron, _, err := fromCalendar(text); text != "10-15" {
			assert.Error(t, err, "%s gave %s", text, cron)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1h 30min": "1h30m", "90": "90s", "2 weeks": "14d", "1d12hr": "1d12h", "": "", "infinity": "", "1.5h": "", "3months": ""} {
		got, ok := span(text)
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, got)
		}
	}
}

func TestWordsOfExecStart(t *testing.T) {
	t.Parallel()
	words, err := split(`/bin/echo "two words" 'it''s' a\ b ""`)
	require.NoError(t, err)
	assert.Equal(t, []string{"/bin/echo", "two words", "its", "a b", ""}, words)
	_, err = split(`/bin/echo "open`)
	require.Error(t, err)
}

func TestALineMayHaveSeveralCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"/bin/rm -rf /x ; /bin/b":      {"/bin/rm -rf /x", "/bin/b"},
		`/bin/sh -c 'a ; b' ; /bin/c`:  {"/bin/sh -c 'a ; b'", "/bin/c"},
		"/bin/find /x -exec rm {} \\;": {"/bin/find /x -exec rm {} \\;"},
		"/bin/a;b":                     {"/bin/a;b"},
		"/bin/a ;":                     {"/bin/a"},
	} {
		assert.Equal(t, want, divided(line), line)
	}
}

// TestAShellReadsWordsAsSystemd: only variables that systemd replaces are replaced by the shell.
func TestAShellReadsWordsAsSystemd(t *testing.T) {
	t.Parallel()
	const loop = "for d in a b; do rm -rf /srv/cache/$d; done"
	for word, want := range map[string][]string{
		loop:                         {loop},
		"${CACHE}/$d":                {"/srv/cache one/$d"},
		"$CACHE":                     {"/srv/cache", "one"},
		"$CACHE/x":                   {"$CACHE/x"},
		"x$CACHE":                    {"x$CACHE"},
		"$NONE":                      nil,
		"${NONE}":                    {""},
		"$1":                         {"$1"},
		"${1}${CACHE}":               {"${1}/srv/cache one"},
		"${CACHE:-x}":                {"${CACHE:-x}"},
		"${CACHE":                    {"${CACHE"},
		"$${CACHE}":                  {"${CACHE}"},
		"$$${CACHE}":                 {"$/srv/cache one"},
		"$$$$":                       {"$$"},
		"$":                          {"$"},
		"":                           {""},
		"$(id)`id`${CACHE}":          {"$(id)`id`/srv/cache one"},
		`"${CACHE}" \ \$d '$1' $(x)`: {`"/srv/cache one" \ \$d '$1' $(x)`},
		"`id` $(id) '$1'":            {"`id` $(id) '$1'"},
		"*":                          {"*"},
		"a${CACHE}\n*":               {"a/srv/cache one\n*"},
	} {
		run := exec.CommandContext(t.Context(), "/bin/sh", "-c", `show() { for a; do printf '%s\0' "$a"; done; }; show `+shellWord(word), "zero", "one")
		run.Env, run.Dir = []string{"CACHE=/srv/cache one"}, "testdata"
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%q is %s: %s", word, shellWord(word), out)
		got := strings.Split(string(out), "\x00")
		assert.ElementsMatch(t, want, got[:len(got)-1], "%q is %s", word, shellWord(word))
	}
}

func TestAColonKeepsVariables(t *testing.T) {
	t.Parallel()
	var e entry
	require.NoError(t, e.program([]string{":/bin/echo $HOME ${HOME} $$"}))
	assert.Equal(t, []string{"/bin/echo", "$HOME", "${HOME}", "$$"}, e.command)
	assert.Empty(t, e.notes)
}
