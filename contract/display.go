package contract

// The workflows that the Web UI shows next to the registry. The first
// process that needs one starts it, a worker or a control plane, so both have to say the same.
const (
	// FleetSummary says in one line what the workflow [FleetWorkflowID] is.
	FleetSummary = "the registry of all workers"
	// FleetDetails says with what it is looked at and operated, as Markdown.
	FleetDetails = "Workers register here, and it judges by their heartbeats who gets jobs\n\n" +
		"`roundsman workers list`, `roundsman workers show ID`, `roundsman workers drain ID`\n\n" +
		"Leave it running: terminated, it is built up again by the workers within a minute, but forgets who was cordoned"
)
