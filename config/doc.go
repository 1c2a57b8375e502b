// Package config reads roundsman.yaml: load, defaults and validation in one step without side effects.
//
// [Load] reports every fault of every file at once, and returns a whole configuration with all defaults or none.
// Valid values that are probably mistakes are warnings, see [Config.Warnings]. The package opens no connection. It
// needs the handlers for their JSON Schemas.
package config
