// Package sameview compares views of workers, so that a view without news costs nothing. It is pure.
package sameview

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Workers reports whether two views of a worker have the same content.
func Workers(a, b *contract.WorkerView) bool {
	return a.Instance == b.Instance && a.State == b.State && a.Fresh == b.Fresh && a.Leaving == b.Leaving && a.Beat == b.Beat &&
		a.MaxDetect == b.MaxDetect && a.MaxExecute == b.MaxExecute && a.Trouble == b.Trouble && slices.Equal(a.Fenced, b.Fenced) && Labels(a.Labels, b.Labels) &&
		slices.Equal(a.JobTypes, b.JobTypes) && slices.Equal(a.Shared, b.Shared) && slices.EqualFunc(a.Capabilities, b.Capabilities, sameCapability)
}

func sameCapability(a, b contract.Capability) bool {
	return a.Handler == b.Handler && a.Detect == b.Detect && a.Execute == b.Execute && a.MaxDetect == b.MaxDetect && a.MaxExecute == b.MaxExecute
}

// Labels reports whether two sets of labels are the same.
//
//workflowcheck:ignore whether two maps are equal does not depend on the order
func Labels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	//workflowcheck:ignore equality does not depend on the order
	for name, value := range a {
		if other, ok := b[name]; !ok || other != value {
			return false
		}
	}
	return true
}
