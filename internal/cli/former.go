package cli

import (
	"maps"

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

// elsewhere maps unknown words and flags to their replacements. They are from other programs or from the command tree before
// the verbs. A flag stands behind the present name of its command.
func elsewhere() map[string]string {
	all := map[string]string{
		"dag":                "to list: `roundsman runs`; to start: `roundsman start FILE`; to check: `roundsman validate FILE`",
		"dag add-tasks":      "`roundsman set RUN -f FILE`",
		"dag set":            "`roundsman set RUN concurrency=N`",
		"jobs submit":        "`roundsman submit TYPE:KEY -p NAME=VALUE`",
		"jobtypes backfill":  "`roundsman start NAME --backfill FROM..TO`",
		"locks":              "`roundsman resources`",
		"notifications":      "`roundsman receivers`",
		"notifications test": "`roundsman receivers --test NAME`",
		"pools":              "`roundsman resources`",
		"pools resize":       "`roundsman set pool/NAME size=N`",
		"workers resize":     "`roundsman set WORKER max_execute=N max_detect=N`",
	}
	maps.Copy(all, droppedQueries())
	maps.Copy(all, droppedSteering())
	return all
}

// droppedQueries are flags of commands that show.
func droppedQueries() map[string]string {
	return map[string]string{
		"audit --job-type":    "`roundsman audit NAME`",
		"audit --kind":        "no flag selects it: `roundsman audit --output json | jq '.[] | select(.kind == \"operator\")'`",
		"audit --object":      "`roundsman audit KIND/NAME`",
		"audit --of":          "`roundsman audit KIND/NAME`",
		"jobs --job-type":     "`roundsman jobs NAME`",
		"jobs --key":          "`roundsman jobs :KEY`",
		"jobs --node":         "`roundsman jobs WORKER`",
		"jobs --run":          "`roundsman jobs RUN`",
		"jobs -t":             "`roundsman jobs NAME`",
		"logs --key":          "`roundsman logs TYPE:KEY`",
		"logs --run":          "`roundsman logs RUN/ITEM`",
		"logs --task":         "`roundsman logs RUN/TASK`",
		"resources --lane":    "`roundsman resources lane/NAME --past`",
		"resources --object":  "`roundsman resources object/NAME --past`",
		"resources --only":    "`roundsman resources KIND/NAME`",
		"resources --pool":    "`roundsman resources pool/NAME --past`",
		"runs --dag":          "`roundsman runs NAME`",
		"runs --job-type":     "`roundsman runs NAME`",
		"runs --kind":         "`roundsman runs NAME`, of a job type or of a DAG",
		"runs --outcome":      "`roundsman runs -s OUTCOME`",
		"runs --running":      "`roundsman runs -s open`",
		"runs --sub-dags":     "`roundsman show RUN --tree`",
		"runs -t":             "`roundsman runs NAME`",
		"schedule --days":     "`roundsman schedule --since 7d --until now`; what comes has `--since now`",
		"schedule --dropped":  "`roundsman schedule -s skipped,missed`",
		"schedule --job-type": "`roundsman schedule NAME`",
		"schedule --skipped":  "`roundsman schedule -s skipped`",
		"show --around":       "`roundsman show RUN/TASK -o svg`",
		"show --format":       "`roundsman show RUN -o svg`, dot or mermaid",
		"show --gantt":        "`roundsman show RUN -o gantt`",
		"show --key":          "`roundsman show TYPE:KEY`",
		"show --limit":        "`roundsman jobs RUN --limit N`",
		"show --out":          "`roundsman show RUN -o svg > FILE`",
		"show --run":          "`roundsman show RUN/ITEM`",
		"show --state":        "`roundsman jobs RUN -s STATE`",
		"show --task":         "`roundsman show RUN/TASK`",
		"show -s":             "`roundsman jobs RUN -s STATE`",
		"watch --interval":    "leave it out: watch looks often enough",
		"workers --deleted":   "`roundsman workers -s DELETED`",
		"workers --online":    "`roundsman workers -s ONLINE`",
	}
}

// droppedSteering are flags of commands that change.
func droppedSteering() map[string]string {
	return map[string]string{
		"apply --dry-run":     "`roundsman plan` shows the changes",
		"plan --prune":        "`roundsman plan` shows deletions always; `roundsman apply --prune` makes them",
		"cancel --key":        "`roundsman cancel TYPE:KEY`",
		"cancel --run":        "`roundsman cancel RUN/ITEM`",
		"cancel --task":       "`roundsman cancel RUN/TASK`",
		"drain --no-wait":     "`roundsman pause WORKER` returns at once",
		"resume --key":        "`roundsman resume TYPE:KEY --kind budget`",
		"retry --accept-diff": "-f FILE alone continues with the DAG in FILE",
		"retry --detach":      "it returns at once, -w waits",
		"set --concurrency":   "`roundsman set RUN concurrency=N`",
		"set --entry":         "`roundsman set NAME --restore SEQ`",
		"set --max-detect":    "`roundsman set WORKER max_detect=N`",
		"set --max-execute":   "`roundsman set WORKER max_execute=N`",
		"set --reset":         "`roundsman set WORKER max_execute= max_detect=`",
		"set --size":          "`roundsman set pool/NAME size=N`",
		"start --detach":      "it returns at once, -w waits",
		"start --from":        "`roundsman start NAME --backfill FROM..TO`",
		"start --to":          "`roundsman start NAME --backfill FROM..TO`",
		"start -d":            "it returns at once, -w waits",
		"submit --id":         "`roundsman submit TYPE --as NAME`",
		"submit --key":        "`roundsman submit TYPE:KEY`",
		"submit --node":       "`roundsman submit TYPE:KEY -l worker=ID`",
		"submit --params":     "`roundsman submit TYPE:KEY -p NAME=VALUE`",
		"submit --type":       "`roundsman submit TYPE:KEY`",
		"submit -t":           "`roundsman submit TYPE:KEY`",
		"validate --commands": "`roundsman start FILE --dry-run`",
	}
}
