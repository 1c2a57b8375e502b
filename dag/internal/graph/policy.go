package graph

import "github.com/roundsman/roundsman/dag/internal/wire"

// FailurePolicy is the effect of a failed task on independent tasks. The zero value is Continue.
type FailurePolicy uint8

const (
	// Continue runs independent branches to their end.
	Continue FailurePolicy = iota
	// Stop cancels at the first failure every task that has not started, except with the rule always or one_failed.
	Stop

	// PolicyCount is the number of policies.
	PolicyCount
)

var policyNames = [PolicyCount]string{"continue", "stop"} //nolint:gochecknoglobals // constant table

// String returns the policy's name in a spec.
func (p FailurePolicy) String() string { return wire.NameOf(policyNames[:], int(p), "FailurePolicy") }

// MarshalText encodes a policy as its name.
func (p FailurePolicy) MarshalText() ([]byte, error) {
	return wire.MarshalName(policyNames[:], int(p), "failure policy")
}

// UnmarshalText is the inverse of MarshalText.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	n, err := wire.ParseName(policyNames[:], string(text), "failure policy")
	*p = FailurePolicy(n)
	return err
}

// Outcome is the outcome of a run. The zero value, NoOutcome, is a run that has not ended.
type Outcome uint8

// The outcomes of a run.
const (
	NoOutcome Outcome = iota
	OutcomeCompleted
	OutcomeFailed
	OutcomeCanceled

	outcomeCount
)

var outcomeNames = [outcomeCount]string{"", "completed", "failed", "canceled"} //nolint:gochecknoglobals // constant table

// String returns the outcome's name; empty for NoOutcome.
func (o Outcome) String() string { return wire.NameOf(outcomeNames[:], int(o), "Outcome") }

// MarshalText encodes an outcome as its name.
func (o Outcome) MarshalText() ([]byte, error) {
	return wire.MarshalName(outcomeNames[:], int(o), "outcome")
}

// UnmarshalText is the inverse of MarshalText.
func (o *Outcome) UnmarshalText(text []byte) error {
	n, err := wire.ParseName(outcomeNames[:], string(text), "outcome")
	*o = Outcome(n)
	return err
}
