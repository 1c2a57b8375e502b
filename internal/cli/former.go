package cli

// former is a name of the command tree before the verbs. It stands for the line of a verb.
type former struct {
	verb  string
	flags []string
	// kind goes before the name.
	kind string
}

// formerNames maps former names to verbs.
func formerNames() map[string]former {
	return map[string]former{
		"audit list":         {verb: "audit"},
		"forecast":           {verb: "schedule", flags: []string{"--since=now"}},
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
		"workers cordon":     {verb: "pause", kind: "worker/"},
		"workers drain":      {verb: "drain", kind: "worker/"},
		"workers list":       {verb: "workers"},
		"workers remove":     {verb: "delete", flags: []string{"-y"}, kind: "worker/"},
		"workers show":       {verb: "show", kind: "worker/"},
		"workers uncordon":   {verb: "resume", kind: "worker/"},
	}
}
