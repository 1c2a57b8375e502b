// Package control holds the short activities of the control plane: they prepare job groups and
// keep the entities running.
//
// They change nothing except the existence of the registry and subscriptions to it. Both may be
// repeated.
package control
