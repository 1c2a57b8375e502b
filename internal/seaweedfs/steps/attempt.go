package steps

// maxTries bounds the repetitions of a failed call by one attempt, if later looks show that it had no effect.
const maxTries = 2

// attempt is the part of a job that no checkpoint has: the calls of this attempt and their failure.
type attempt struct {
	earlier  bool
	tries    map[try]int
	lastFail Answer
	failure  *End
}

type try struct {
	op     Op
	server string
	disk   uint32
}

func tryOf(c Call) try { return try{c.Op, c.Server, c.Disk} }

func (a *attempt) tried(op Op, server string) int { return a.tries[try{op: op, server: server}] }

// took counts a call and reports whether it was successful.
func (a *attempt) took(c Call, answer Answer) bool {
	if a.tries == nil {
		a.tries = map[try]int{}
	}
	a.tries[tryOf(c)]++
	if answer.Err != "" {
		a.lastFail = answer
		return false
	}
	return true
}

func (a *attempt) failedCall(server string) *End {
	return failed(CallFailed).at(server, a.lastFail.Err)
}
