// Package override parses SETTING=VALUE of operators, and applies the changes to a policy or a job type.
package override
