// Package pastjobs lists jobs that have ended from the record of their run, without a control plane.
package pastjobs
