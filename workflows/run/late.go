package run

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// Close waits for the last deliveries, as [Runner.Close], and records the messages that came too late.
func (l *Loop) Close(last ...contract.AdmissionEndings) error {
	if err := l.Runner.Close(last...); err != nil {
		return err
	}
	return l.SettleLate()
}

// SettleLate records the actions of operators that came after the run's last decision, until none is left. Call it
// after every wait of an ending run.
func (l *Loop) SettleLate() error {
	for {
		l.collectLate()
		if l.Audit.Idle() {
			return nil
		}
		if err := l.Audit.Settle(); err != nil {
			return err
		}
	}
}

func (l *Loop) collectLate() {
	if l.NewlyCanceled() && workflow.GetInfo(l.ctx).ParentWorkflowExecution == nil {
		l.Audit.Canceled(l.late("cancel", "", ""))
	}
	for {
		var in contract.CancelRunInput
		if !l.inbox.cancel.ReceiveAsync(&in) {
			break
		}
		l.Audit.Signaled(contract.SignalCancelRun, l.late("cancel", in.By, in.Reason))
	}
	for _, steer := range l.Steers() {
		signal := contract.SignalResume
		if steer.Pause {
			signal = contract.SignalPause
		}
		l.Audit.Signaled(signal, l.late(signal, steer.By, steer.Note))
	}
	if l.Late != nil {
		l.Late()
	}
}

func (l *Loop) late(action, by, detail string) contract.AuditEntry {
	return contract.AuditEntry{Action: l.Noun + "." + action, Actor: by, Code: string(contract.CodeAlreadyEnded), Detail: detail}
}
