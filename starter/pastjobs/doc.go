// Package pastjobs lists jobs that have ended from the record of their run. It needs the
// server alone, no control plane.
package pastjobs
