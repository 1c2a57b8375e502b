// Package admission holds the activities of the admission workflow: it watches
// for holders that end without saying so, and asks running groups what they hold
// when admission does not know it.
//
// They change nothing but sending the signal that asks, so each may be repeated.
package admission
