// Package inforce writes applied job types as a configuration, the inverse of [config.Config.Specs]. Settings
// with their default value are left out.
package inforce
