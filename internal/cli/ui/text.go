package ui

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/starter"
)

// ByWhom adds the author, if known.
func ByWhom(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

// GoesOn explains that an interrupt ended only the wait, and the run continues.
func GoesOn(ref starter.RunRef, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted: %s continues; follow it with `roundsman watch %s`, end it with `roundsman cancel %s`",
		ref.WorkflowID, ref.WorkflowID, ref.WorkflowID)
}
