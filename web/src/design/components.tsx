// The components in their states, light beside dark, for developers.
import { later } from '../later';
import { RunName } from '../names';
import { Remedies } from '../remedies';
import { Rows } from '../table/rows';
import { Middle } from '../table/text';
import { Cause, Empty, Facts, Failure, Meter, Page, Section, Table } from '../ui';
import { Diff } from './diff';
import { Samples } from './samples';
import { Pill, type Role, State } from './state';
import { Strip } from './strip';
import { Work } from './work';

const Sample = later(() => import('../timeline/sample').then((m) => m.Sample));

const states: [string, Role][] = [
  ['failed', 'failed'],
  ['timeout', 'timeout'],
  ['partial', 'partial'],
  ['held', 'person'],
  ['paused', 'paused'],
  ['waits for disk-io', 'waiting'],
  ['running', 'running'],
  ['completed', 'done'],
  ['skipped', 'skipped'],
  ['upstream failed', 'upstream'],
  ['canceled', 'canceled'],
  ['due', 'plan'],
  ['not known', 'unknown'],
];

const runs = Array.from({ length: 12 }, (_, i) => ({
  word: ['completed', 'completed', 'failed', 'partial'][i % 4] ?? 'completed',
  took: 1000 * (5 + ((i * 7) % 11)),
}));

export function Components() {
  return (
    <Page
      title="Components"
      head={{ state: { word: 'completed' }, age: '4 min ago', cause: 'The header says state, age and cause, and has one primary action.' }}
      actions={
        <>
          <button type="button">Retry 37 failed</button>
          <button type="button">Pause</button>
        </>
      }
    >
      <div class="themes">
        {(['light', 'dark'] as const).map((theme) => (
          <div key={theme} class="stack" data-theme={theme}>
            <Every theme={theme} />
          </div>
        ))}
      </div>
    </Page>
  );
}

function Every({ theme }: { theme: string }) {
  return (
    <>
      <Section title="Names of runs">
        <p>
          <RunName id="group/scrub-2026-11-24T02:40:00Z" />, <RunName id="dag/release/v1.14" item="go-live" />
        </p>
        <Remedies of={[]} actor="an administrator of the workers, in a shell" />
      </Section>
      <Section title="States" note={theme}>
        <ul class="states">
          {states.map(([word, role]) => (
            <li key={word}>
              <State word={word} role={role} /> <Pill word={word} role={role} />
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Difference">
        <Diff
          label={`A difference, ${theme}`}
          of={[
            { path: 'policy.retry_limit', before: '0', after: '3' },
            { path: 'schedule', before: 'every 1h', after: 'every 2h jitter 5m', drift: true },
          ]}
        />
      </Section>
      <Section title="Needs a person" note="2" look="ask">
        <Work
          rows={[
            { id: 'one', role: 'person', what: 'nightly: approve release', code: 'AWAITING_APPROVAL', why: 'Times out in 78 min.', acts: <button type="button">Approve</button> },
            { id: 'two', role: 'failed', what: 'nightly is held: offsite-copy failed', why: 's3: 503 SlowDown, 5 attempts.' },
          ]}
        />
      </Section>
      <Section title="What failed" note="3 jobs" look="alarm">
        <Table
          label={`Jobs, ${theme}`}
          rows={['volume-1', 'volume-2']}
          id={(name) => name}
          empty=""
          columns={[
            { name: 'Job', show: (name) => <a href="#/design">{name}</a> },
            { name: 'Error', show: () => <Cause of="exited with status 3: no such disk" />, wide: true },
            { name: 'Attempt', show: () => 3, number: true },
          ]}
        />
      </Section>
      <Section title="Rows to select" note="X, Shift and arrows">
        <Rows
          label={`Rows, ${theme}`}
          rows={['volume-1', 'volume-2', 'stor-17/a-volume-with-a-long-name/disk-0042']}
          id={(name) => name}
          empty=""
          note="3 volumes"
          sorting={{ by: 'key', set: () => {} }}
          pick={{ of: theme, noun: 'volume', name: (name) => name, acts: () => [] }}
          columns={[
            { name: 'Key', show: (name) => <Middle of={name} />, width: '14rem', sort: 'key', value: (name) => name },
            { name: 'State', show: () => <State word="failed" />, second: true },
            { name: 'Error', show: () => 'no space left on /data2: needs 4.0 GiB', wide: true, second: true },
          ]}
        />
      </Section>
      <Section title="Held back">
        <Empty>Nothing is held back.</Empty>
      </Section>
      <Section title="Controls">
        <p class="actions">
          <button type="button" class="primary">
            Approve
          </button>
          <button type="button">Pause</button>
          <button type="button" class="danger">
            Cancel 2 jobs
          </button>
          <button type="button" disabled>
            Working…
          </button>
          <button type="button" class="small">
            Copy
          </button>
          <span class="chip">37 failed</span> <span class="code">NO_WORKER</span>
        </p>
        <p>
          <input aria-label={`A field, ${theme}`} value="volume-1" />
        </p>
        <p>
          Prose has <a href="#/design">links</a> and <code>code</code>.
        </p>
      </Section>
      <Section title="Facts">
        <Facts
          of={[
            ['Lane', 'disk'],
            ['Slots', <Meter key="meter" used={3} of={8} label={`slots, ${theme}`} />],
            ['Last runs', <Strip key="strip" runs={runs} label={`Last runs, ${theme}`} />],
          ]}
        />
      </Section>
      <Section title="Timeline">
        <Sample label={`Timeline, ${theme}`} />
      </Section>
      <Samples theme={theme} />
      <Failure error="the server does not answer" what="Runs cannot be shown" />
      {(['good', 'odd', 'bad', 'unknown'] as const).map((look) => (
        <div key={look} class={`verdict ${look}`}>
          <p>
            <strong>{{ good: 'Yes.', odd: 'Drain it first.', bad: 'Only if work may wait.', unknown: 'Not known.' }[look]}</strong> Why it is so.
          </p>
        </div>
      ))}
    </>
  );
}
