import { useGet } from '../data';
import { Prose } from '../names';
import { Time } from '../time';
import type { Doctor as DoctorReport, Version } from '../types';
import { type Head, Loaded, Page, Section, Table } from '../ui';
import { plural } from '../words';
import { checkName, Checks } from './checks';

function headOf({ ok, passed, warnings, checks }: DoctorReport, at: number, version: Version | undefined): Head {
  const failed = checks.length - passed - warnings;
  return {
    state: ok ? (warnings > 0 ? { word: `${warnings} to look at`, role: 'person' } : { word: 'all pass', role: 'done' }) : { word: `${failed} ${failed === 1 ? 'fails' : 'fail'}`, role: 'failed' },
    age: (
      <>
        checked <Time at={new Date(at).toISOString()} />
      </>
    ),
    cause: `${passed === checks.length ? 'Server, namespace, control plane, workers and receivers answer as they should.' : `${passed} of ${plural(checks.length, 'check')} pass.`}${version ? ` Roundsman ${version.version}.` : ''}`,
  };
}

export function Doctor() {
  const found = useGet<DoctorReport>('/doctor');
  const version = useGet<Version>('/version', false);
  return (
    <Page
      title="Doctor"
      head={found.data && headOf(found.data, found.dataUpdatedAt, version.data)}
      actions={
        <button type="button" onClick={() => void found.refetch()} disabled={found.isFetching}>
          {found.isFetching ? 'Working…' : 'Check again'}
        </button>
      }
    >
      <Loaded of={found} what="The checks">
        {({ checks }) => {
          const { ok: passed = [], warn: odd = [], fail: failed = [] } = Object.groupBy(checks, (check) => check.verdict);
          return (
            <>
              {failed.length > 0 && (
                <Section title="Fails" note={failed.length} look="alarm">
                  <Checks of={failed} />
                </Section>
              )}
              {odd.length > 0 && (
                <Section title="To look at" note={odd.length} look="ask">
                  <Checks of={odd} />
                </Section>
              )}
              <section aria-label="Checks that pass">
                <details class="fold2" open={passed.length === checks.length}>
                  <summary>
                    <b>{plural(passed.length, 'check')} {passed.length === 1 ? 'passes' : 'pass'}</b> {passed.map((check) => check.name).join(', ')}
                  </summary>
                  <Table
                    label="Checks that pass"
                    stacked
                    rows={passed}
                    id={(check) => check.name}
                    empty="None."
                    columns={[
                      { name: 'Check', show: (check) => <span class="state done g-done">{checkName(check)}</span> },
                      { name: 'Found', show: (check) => <Prose text={check.found} />, wide: true },
                    ]}
                  />
                </details>
              </section>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
