package rpc

import (
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
)

// Advise returns the text of err for people. It adds the remedy for a missing namespace.
func Advise(err error) string {
	if missing, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return fmt.Sprintf("%v Name another one with --namespace or TEMPORAL_NAMESPACE, or create it: "+
			"temporal operator namespace create --namespace %s --retention 72h", err, missing.Namespace)
	}
	return err.Error()
}
