import { useGet } from '../data';
import { Prose } from '../names';
import { Time } from '../time';
import type { Doctor as DoctorReport, Version } from '../types';
import { type Head, Loaded, Page, Table } from '../ui';
import { plural } from '../words';
import { checkName, Checks } from './checks';

function headOf({ ok, passed, warnings, checks }: DoctorReport, at: number, version: Version | undefined): Head {
  const failed = checks.length - passed - warnings;
  const words = [failed > 0 && `${failed} ${failed === 1 ? 'fails' : 'fail'}`, warnings > 0 && `${warnings} to look at`].filter(Boolean);
  return {
    state: { word: words.join(', ') || 'all pass', role: !ok ? 'failed' : warnings > 0 ? 'person' : 'done' },
    age: (
      <>
        checked <Time at={new Date(at).toISOString()} />
        {version && ` · Roundsman ${version.version}`}
      </>
    ),
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
              {failed.length + odd.length > 0 && (
                <section class={failed.length > 0 ? 'alarm' : 'ask'} aria-label="Checks that do not pass">
                  <Checks of={[...failed, ...odd]} />
                </section>
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
