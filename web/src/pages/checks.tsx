// Checks of the doctor that did not pass, as rows of work.
import { roleOf } from '../design/state';
import { type Task, Work } from '../design/work';
import { Prose, sentence } from '../names';
import { isWords, Remedies } from '../remedies';
import type { Doctor } from '../types';
import { upper } from '../words';

type Check = Doctor['checks'][number];

export const checkName = ({ name }: Check) => upper(name);

export const Checks = ({ of }: { of: Check[] }) => (
  <Work
    rows={of.map((check): Task => ({
      id: check.name,
      role: roleOf(check.verdict) ?? 'unknown',
      what: checkName(check),
      code: check.code,
      look: sentence(check.found),
      why: (
        <>
          <Prose text={check.found} />
          {isWords(check.fix) && (
            <span class="fix sentence">
              <Prose text={check.fix} />
            </span>
          )}
        </>
      ),
      acts: <Remedies of={check.actions} />,
    }))}
  />
);
