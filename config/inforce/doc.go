// Package inforce writes applied job types as a configuration, the inverse of [config.Config.Specs].
package inforce
