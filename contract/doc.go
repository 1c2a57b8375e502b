// Package contract is the wire format between Roundsman's processes and their clients: names of
// workflows, activities, messages, task queues and search attributes, and the data sent under those
// names.
//
// The package has no behavior. Recorded histories and running workflows contain its types: fields are
// only ever added, and a zero value means the same as an absent field.
package contract
