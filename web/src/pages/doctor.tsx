import { useGet } from '../data';
import { Prose } from '../explain';
import type { Doctor as DoctorReport, Version } from '../types';
import { Loaded, Page, Section, State, Table } from '../ui';

export function Doctor() {
  const found = useGet<DoctorReport>('/doctor');
  const version = useGet<Version>('/version', false);
  return (
    <Page title="Doctor">
      <Loaded of={found} what="The checks">
        {({ ok, checks }) => (
          <Section title={ok ? 'Nothing is wrong' : 'Something is wrong'} note={version.data && `Roundsman ${version.data.version}`}>
            <Table
              label="Checks"
              stacked
              rows={checks}
              id={(check) => check.name}
              empty="No check was made."
              columns={[
                { name: 'Check', show: (check) => check.name },
                { name: 'Verdict', show: (check) => <State word={check.verdict} /> },
                { name: 'Found', show: (check) => check.found, wide: true },
                {
                  name: 'What to do',
                  show: (check) => (check.fix ? <Prose text={check.fix} /> : <span class="faint">nothing</span>),
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
