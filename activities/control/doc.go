// Package control holds the short activities of the control plane: they prepare job groups and keep the entities
// running. Each may be repeated.
package control
