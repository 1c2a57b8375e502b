// Package config reads roundsman.yaml: Load → defaults → validation, in one
// go and without side effects.
//
// [Load] reports every fault of every file at once, each with file, line and
// column, and returns either a whole configuration with all defaults filled in
// or none. Unknown keys are faults. A value that is not wrong but probably not
// meant is a warning, kept apart in [Config.Warnings].
//
// The package is a leaf: it connects to nothing and maps nothing to anybody's
// options. It needs to be told which handlers exist, because params are checked
// against their JSON Schemas. [Config.Specs] gives what `apply` stores in
// Temporal, [Config.Format] prints the effective configuration, [Schema] the
// JSON Schema for editors.
package config
