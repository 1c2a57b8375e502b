import { useGet } from '../data';
import { Prose } from '../names';
import { Remedies } from '../remedies';
import type { Doctor as DoctorReport, Version } from '../types';
import { type Head, Loaded, Page, Section, State, Table } from '../ui';
import { plural } from '../words';

// Faults come first, then warnings.
const rank = (verdict: string) => ({ ok: 2, warn: 1 })[verdict] ?? 0;

function headOf({ ok, warnings, checks }: DoctorReport): Head {
  const [worst] = [...checks].sort((a, b) => rank(a.verdict) - rank(b.verdict));
  const faults = checks.filter((check) => rank(check.verdict) === 0).length;
  return {
    state: ok ? (warnings > 0 ? { word: plural(warnings, 'warning'), role: 'person' } : { word: 'well', role: 'done' }) : { word: plural(faults, 'fault'), role: 'failed' },
    cause: worst && rank(worst.verdict) < 2 ? <>{worst.name}: <Prose text={worst.found} /></> : 'Server, namespace, control plane, workers and receivers answer as they should.',
  };
}

export function Doctor() {
  const found = useGet<DoctorReport>('/doctor');
  const version = useGet<Version>('/version', false);
  return (
    <Page
      title="Doctor"
      head={found.data && headOf(found.data)}
      actions={
        <button type="button" onClick={() => void found.refetch()} disabled={found.isFetching}>
          {found.isFetching ? 'Working…' : 'Check again'}
        </button>
      }
    >
      <Loaded of={found} what="The checks">
        {({ checks }) => (
          <Section title="Checks" note={version.data && `Roundsman ${version.data.version}`}>
            <Table
              label="Checks"
              stacked
              rows={[...checks].sort((a, b) => rank(a.verdict) - rank(b.verdict))}
              id={(check) => check.name}
              empty="No check was made."
              columns={[
                { name: 'Check', show: (check) => check.name },
                { name: 'Verdict', show: (check) => <State word={check.verdict} /> },
                { name: 'Found', show: (check) => <Prose text={check.found} />, wide: true },
                {
                  name: 'What to do',
                  show: (check) => check.fix && <Remedies of={check.actions} text={check.fix} />,
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
