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
		"keys list":          {verb: "keys"},
		"keys revoke":        {verb: "delete", flags: []string{"-y"}, kind: "apikey/"},
		"ledger":             {verb: "schedule", flags: []string{"--until=now"}},
		"notifications list": {verb: "receivers"},
	}
}
