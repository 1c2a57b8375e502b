// Package admission has the activities of the admission workflow. They find holders that ended without a release, and
// request assertions of holdings after a recovery. Each may be repeated.
package admission
