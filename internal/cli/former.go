package cli

import (
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// former is a name of the command tree before the verbs. It stands for the line of a verb.
type former struct {
	verb  string
	flags []string
	// kind goes before the name, join between the name and each further word.
	kind, join string
	// run makes a name the name of a run.
	run bool
}

func (f former) args(words []string) ([]string, error) {
	if len(words) == 0 {
		return words, nil
	}
	words[0] = f.kind + words[0]
	if parsed, err := ref.Parse(words[0]); f.run && err == nil && parsed.Bare() {
		words[0] += "@"
	}
	if f.join == "" {
		return words, nil
	}
	if len(words) == 1 {
		return nil, ui.Usagef("an argument is missing: see %s %s --help", ui.ProgramName, f.verb)
	}
	return lists.Map(words[1:], func(word string) string { return words[0] + f.join + word }), nil
}

// formerNames maps former names to verbs.
func formerNames() map[string]former {
	return map[string]former{
		"audit list":         {verb: "audit"},
		"dag cancel":         {verb: "cancel"},
		"dag list":           {verb: "runs"},
		"dag approve":        {verb: "approve", join: "/"},
		"dag pause":          {verb: "pause", run: true},
		"dag reject":         {verb: "reject", join: "/"},
		"dag release":        {verb: "resume", flags: []string{"--kind=failure"}, run: true},
		"dag render":         {verb: "show", flags: []string{"--output=svg"}},
		"dag resume":         {verb: "resume", run: true},
		"dag retry":          {verb: "retry"},
		"dag run":            {verb: "start", flags: []string{"--wait"}},
		"dag show":           {verb: "show", run: true},
		"dag skip":           {verb: "skip", join: "/"},
		"dag validate":       {verb: "validate"},
		"dag watch":          {verb: "watch"},
		"forecast":           {verb: "schedule", flags: []string{"--since=now"}},
		"jobs cancel":        {verb: "cancel"},
		"jobs disabled":      {verb: "holds"},
		"jobs expire":        {verb: "cancel", flags: []string{"--force", "-y"}},
		"jobs forgive":       {verb: "resume", join: ":"},
		"jobs list":          {verb: "jobs"},
		"jobs logs":          {verb: "logs"},
		"jobs mark-done":     {verb: "skip", join: ":"},
		"jobs show":          {verb: "show"},
		"jobtypes detect":    {verb: "start", flags: []string{"--dry-run"}, kind: "jobtype/"},
		"jobtypes list":      {verb: "jobtypes"},
		"jobtypes pause":     {verb: "pause", kind: "jobtype/"},
		"jobtypes re-enable": {verb: "resume", flags: []string{"--kind=budget"}, kind: "jobtype/"},
		"jobtypes restore":   {verb: "set", flags: []string{"--restore=last"}, kind: "jobtype/"},
		"jobtypes resume":    {verb: "resume", flags: []string{"--kind=pause"}, kind: "jobtype/"},
		"jobtypes run":       {verb: "start", kind: "jobtype/"},
		"jobtypes set":       {verb: "set", kind: "jobtype/"},
		"jobtypes show":      {verb: "show", kind: "jobtype/"},
		"keys list":          {verb: "keys"},
		"keys revoke":        {verb: "delete", flags: []string{"-y"}, kind: "apikey/"},
		"ledger":             {verb: "schedule", flags: []string{"--until=now"}},
		"locks list":         {verb: "resources"},
		"locks past":         {verb: "resources", flags: []string{"--past"}},
		"notifications list": {verb: "receivers"},
		"pools list":         {verb: "resources"},
		"runs cancel":        {verb: "cancel"},
		"runs list":          {verb: "runs"},
		"runs pause":         {verb: "pause", run: true},
		"runs resume":        {verb: "resume", run: true},
		"runs retry":         {verb: "retry"},
		"runs set":           {verb: "set", run: true},
		"runs show":          {verb: "show", run: true},
		"runs watch":         {verb: "watch"},
		"workers cordon":     {verb: "pause", kind: "worker/"},
		"workers drain":      {verb: "drain", kind: "worker/"},
		"workers list":       {verb: "workers"},
		"workers remove":     {verb: "delete", flags: []string{"-y"}, kind: "worker/"},
		"workers show":       {verb: "show", kind: "worker/"},
		"workers uncordon":   {verb: "resume", kind: "worker/"},
	}
}
