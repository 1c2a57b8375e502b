package attempt

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Candidate is a worker for the work, whether it can serve now or not.
type Candidate struct {
	ID, Instance string
	CoolUntil    time.Time
	// Usable: it can serve now. Online: it can or may soon. Code and Reason explain why it cannot.
	Usable, Online, Offline bool
	Code                    contract.Code
	Reason                  string
}

// Detector is a worker that can detect.
type Detector struct {
	ID, Instance string
	CoolUntil    time.Time
}
