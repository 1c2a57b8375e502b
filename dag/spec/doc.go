// Package spec converts a person's YAML or JSON to a [dag.Graph], and back.
//
// docs/spec/001-dag.md defines the language; the tests under testdata name the rules they prove. The steps are
//
//	[Load] bytes → [Spec] → [Compile] → [Compiled]: a dag.Graph with all data of a run, for encoding
//	→ [Open] → [Program]: a task's [Definition], rendered with the results of its dependencies.
//
// A document's faults are reported at once ([Faults]), each with file, line and column.
//
// Templates of a task may refer to results of the tasks in its needs only, so one line shows all dependencies of a
// task. [Program.Referrers] returns the tasks that still use a result.
package spec
