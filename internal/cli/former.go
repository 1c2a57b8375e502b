package cli

// former is a name of the command tree before the verbs. It stands for the line of a verb.
type former struct {
	verb  string
	flags []string
}

// formerNames maps former names to verbs.
func formerNames() map[string]former {
	return map[string]former{
		"forecast": {verb: "schedule", flags: []string{"--since=now"}},
		"ledger":   {verb: "schedule", flags: []string{"--until=now"}},
	}
}
