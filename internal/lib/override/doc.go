// Package override reads SETTING=VALUE as operators type it, and lays it over a policy
// or a job type.
package override
