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
// waiting. group is the group of commands about such runs.
func GoesOn(group string, ref starter.RunRef, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted: %s continues; follow it with `roundsman %s watch %s`, end it with `roundsman %s cancel %s`",
		ref.WorkflowID, group, ref.WorkflowID, group, ref.WorkflowID)
}
