// Package admission has the activities of the admission workflow. They find holders that ended
// without a release, and request running groups to assert their holdings after a recovery.
//
// Their only effect is the signal with that request, so each may be repeated.
package admission
