// Package joblogs reads what jobs and tasks print: from the process of the worker that
// runs them, and what their result kept of it once that process is gone.
package joblogs
