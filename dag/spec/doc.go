// Package spec turns the YAML or JSON a person writes into a [dag.Graph], and
// back.
//
// The language is defined, rule by rule, in docs/spec/001-dag.md; the tests under
// testdata name the rules they prove. The way is
//
//	[Load] bytes → [Spec] → [Compile] → [Compiled]: a dag.Graph that carries
//	everything a run needs, so that its encoding is all that travels
//	→ [Open] → [Program]: a task's [Definition], rendered with the results of the
//	tasks it needs.
//
// All faults of a document are reported at once ([Faults]), each with file, line
// and column. Nothing here reads a file: [Files] is the caller's.
//
// A task may refer, in templates, to the results of the tasks it names in needs:
// direct dependencies only, never transitive ones, so that what a task depends on
// can be read off one line. [Program.Referrers] tells whose result is still wanted.
package spec
