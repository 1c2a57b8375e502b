// Package contract is the wire format between Roundsman's processes and their clients: names and data.
//
// The package has no behavior. Recorded histories contain its types: fields are only ever added, and a zero value
// means the same as an absent field.
package contract
