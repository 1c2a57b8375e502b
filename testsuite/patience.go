package testsuite

import "time"

// waitPatience is what a wait lasts beyond its limit: what comes is seen as soon as it
// comes, and on an overloaded machine nothing comes in time.
const waitPatience = time.Minute
