// Checks of the doctor that did not pass, as rows of work.
import { roleOf } from '../design/state';
import { type Task, Work } from '../design/work';
import { Prose } from '../names';
import { Remedies } from '../remedies';
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
      look: 'sentence',
      why: (
        <>
          <Prose text={check.found} />
          {check.hint && (
            <span class="fix sentence">
              <Prose text={check.hint} />
            </span>
          )}
        </>
      ),
      acts: <Remedies of={check.actions} />,
    }))}
  />
);
