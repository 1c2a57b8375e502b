package ui

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/starter"
)

// ByWhom adds who did something, if that is known.
func ByWhom(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

// GoesOn says of a run whose end was waited for that an interrupt ended only the
// waiting.
func GoesOn(ref starter.RunRef, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted: %s continues; follow it with `roundsman watch %s`, end it with `roundsman cancel %s`",
		ref.WorkflowID, ref.WorkflowID, ref.WorkflowID)
}
