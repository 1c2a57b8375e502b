// Package ranked has collections that return their first element at a constant or logarithmic cost.
package ranked
