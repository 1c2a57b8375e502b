// Package calendar has the commands about scheduled instants.
package calendar
