// Package jobtypes has the commands about job types.
package jobtypes
