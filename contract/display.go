package contract

// Texts of the Web UI for the registry, shared by workers and control planes.
const (
	// FleetSummary describes the workflow [FleetWorkflowID] in one line.
	FleetSummary = "the registry of all workers"
	// FleetDetails lists the commands that show and operate it, as Markdown.
	FleetDetails = "Workers register here, and it judges by their heartbeats who gets jobs\n\n" +
		"`roundsman workers`, `roundsman show ID`, `roundsman drain ID`\n\n" +
		"Leave it running: terminated, it is built up again by the workers within a minute, but forgets who was cordoned"
)
