// Package config reads roundsman.yaml: load, defaults and validation in one step without side effects.
//
// [Load] reports every fault of every file at once, with file, line and column. It returns a whole
// configuration with all defaults filled in, or none. Unknown keys are faults. Valid values that are
// probably not meant are warnings, see [Config.Warnings].
//
// The package is a leaf: it opens no connection and maps no options of other packages. It needs the
// existing handlers, because it checks params against their JSON Schemas. [Config.Specs] returns the
// data that `apply` stores in Temporal. [Config.Format] prints the effective configuration, and
// [Schema] the JSON Schema for editors.
package config
