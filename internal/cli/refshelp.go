package cli

import (
	"github.com/urfave/cli/v2"
)

func (c *commands) refsHelp() *cli.Command {
	return &cli.Command{
		Name: "refs", Hidden: true, Usage: "how a thing is named on a command line",
		Description: `  scrub                 job type, DAG or worker with this name
  scrub@                the open run, or else the newest
  scrub@open            only the open run
  scrub@last            the newest run that has ended
  scrub@bad             the newest run that ended failed, partial or timeout
  scrub@1120T0900Z      the run that started then, in UTC
  nightly@december      the run that was started --as december; a unique beginning is enough
  group/scrub-2026-11-20T09:00:00Z
                        the id of a workflow; group/ may be left out
  scrub/12              job-00012 of the run of scrub
  nightly@last/load.n7  a task of a run; nightly/sub/load is one of a sub-DAG
  scrub:/srv/a.bin      the newest job with a dedupe key; :KEY is that of any job type
  worker/node-a         by kind: jobtype worker lane pool object receiver apikey dag
  rollout.yaml          a DAG in a file, for start, show and validate
  -                     one reference per line of standard input, for commands that change things, except start

A reference that means several things is refused, with one exact form per line.

Examples:
  roundsman show scrub@bad
  roundsman runs -s bad -o name | roundsman retry -`,
		Action: func(*cli.Context) error {
			c.Print("%s", c.Env.Own.Text(c.refsHelp().Description))
			return nil
		},
	}
}
