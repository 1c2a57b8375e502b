import { useGet } from '../data';
import { Prose } from '../explain';
import { Remedies } from '../remedies';
import type { Doctor as DoctorReport, Version } from '../types';
import { Loaded, Page, Section, State, Table } from '../ui';

// Faults come first, then warnings.
const rank = (verdict: string) => ({ ok: 2, warn: 1 })[verdict] ?? 0;

const headline = (ok: boolean, warnings: number) =>
  !ok ? 'Something is wrong' : warnings > 0 ? `Nothing is wrong, ${warnings} to look at` : 'Nothing is wrong';

export function Doctor() {
  const found = useGet<DoctorReport>('/doctor');
  const version = useGet<Version>('/version', false);
  return (
    <Page title="Doctor">
      <Loaded of={found} what="The checks">
        {({ ok, warnings, checks }) => (
          <Section title={headline(ok, warnings)} note={version.data && `Roundsman ${version.data.version}`}>
            <Table
              label="Checks"
              stacked
              rows={[...checks].sort((a, b) => rank(a.verdict) - rank(b.verdict))}
              id={(check) => check.name}
              empty="No check was made."
              columns={[
                { name: 'Check', show: (check) => check.name },
                { name: 'Verdict', show: (check) => <State word={check.verdict} /> },
                { name: 'Found', show: (check) => check.found, wide: true },
                {
                  name: 'What to do',
                  show: (check) => (check.fix ? <><Prose text={check.fix} /> <Remedies of={check.actions} /></> : <span class="faint">nothing</span>),
                  wide: true,
                },
              ]}
            />
          </Section>
        )}
      </Loaded>
    </Page>
  );
}
