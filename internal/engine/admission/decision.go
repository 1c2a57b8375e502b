package admission

import "github.com/roundsman/roundsman/contract"

// Decision is a message to a holder. The set is closed.
type Decision interface{ decision() }

// Granted grants a request. It is repeated when the request is.
type Granted struct {
	Holder contract.AdmissionHolder
	contract.AdmissionGrant
}

// Refused means that a request will never be granted.
type Refused struct {
	Holder contract.AdmissionHolder
	contract.AdmissionRefusal
}

// Lost means that another holder has a grant that this holder asserted.
type Lost struct {
	Holder contract.AdmissionHolder
	contract.AdmissionRefusal
}

// Stopped names a key whose jobs the holder must not start any more; without a key, all jobs.
type Stopped struct {
	Holder contract.AdmissionHolder
	contract.AdmissionStop
}

// Waits means that a request for resources was received and is not granted yet.
type Waits struct {
	Holder contract.AdmissionHolder
	ID     string
}

func (Granted) decision() {}
func (Refused) decision() {}
func (Lost) decision()    {}
func (Stopped) decision() {}
func (Waits) decision()   {}

func (c *Core) decide(decision Decision) { c.out = append(c.out, decision) }

func (c *Core) refuse(r *request, refusal contract.AdmissionRefusal) {
	refusal.ID = r.ID
	c.decide(Refused{r.Holder, refusal})
}
