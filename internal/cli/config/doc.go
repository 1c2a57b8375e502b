// Package config has the commands about the configuration (validate, plan, apply).
package config
