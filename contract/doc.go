// Package contract is the wire between Roundsman's processes and everybody who
// talks to them: names of workflows, activities, messages, task queues and
// search attributes, and the data that travels under those names.
//
// It holds no behaviour. Whatever is added here is part of recorded histories
// and of running workflows: fields are only ever added, and a zero value must
// mean what its absence meant before.
package contract
