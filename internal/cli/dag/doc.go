// Package dag has the commands about DAGs.
package dag
