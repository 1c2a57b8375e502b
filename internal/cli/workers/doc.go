// Package workers has the commands about workers and resource pools.
package workers
