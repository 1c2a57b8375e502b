package admission

// Disabled returns what the retry budget has disabled since it was called last,
// for the audit log. It is not part of the state: whoever steps the desk takes it
// after every step.
func (d *Desk) Disabled() []HeldBack {
	taken := d.disabled
	d.disabled = nil
	return taken
}

// noteDisabled keeps it for [Desk.Disabled]; key is empty for the whole type.
func (d *Desk) noteDisabled(jobType, key string, off *Off) {
	d.disabled = append(d.disabled, HeldBack{JobType: jobType, Key: key, Off: *off})
}
