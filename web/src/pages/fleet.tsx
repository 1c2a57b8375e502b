// The fleet as boxes, in groups by one of their labels.
import { roleOf, spoken } from '../design/state';
import { href } from '../route';
import { clockOf } from '../time';
import type { ListedWorker } from '../types';
import { Section } from '../ui';
import './fleet.css';

type Load = ListedWorker['load'];

const mostGroups = 12;

// grouped puts workers with the same value of a label together: the label that makes the most groups, if they are few.
function grouped(workers: ListedWorker[]): Map<string, ListedWorker[]> {
  const names = new Set(workers.flatMap((worker) => Object.keys(worker.registration.labels ?? {})));
  let best = new Map([['', workers]]);
  for (const name of [...names].sort()) {
    const groups = Map.groupBy(workers, (worker) => (worker.registration.labels?.[name] === undefined ? `no ${name}` : `${name} ${worker.registration.labels[name]}`));
    if (groups.size > best.size && groups.size <= mostGroups) best = groups;
  }
  return best;
}

export const inUse = (worker: ListedWorker, load: Load): string =>
  load ? `${load.executing.toLocaleString('en')} of ${worker.caps.max_execute.toLocaleString('en')}` : `${worker.caps.max_execute.toLocaleString('en')} slots`;

// Fleet shows the slots in use as they were read at an instant.
export function Fleet({ workers, loads, at }: { workers: ListedWorker[]; loads: Map<string, Load>; at: number }) {
  return (
    <Section
      title="Fleet"
      note={
        <span class="legend" aria-hidden="true">
          {loads.size > 0 && <span><i />slots in use at {clockOf(new Date(at))}</span>}
          {[...new Set(workers.map((worker) => worker.state))].filter((state) => state !== 'ONLINE').map((state) => (
            <span key={state}><i class={roleOf(state)} />{spoken(state)}</span>
          ))}
        </span>
      }
    >
      <div class="fleet">
        {[...grouped(workers)].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).map(([name, members]) => (
          <div key={name}>
            {name && <h3>{name}</h3>}
            <ul aria-label={name ? `Workers with ${name}` : 'All workers'}>
              {members.map((worker) => {
                const { id } = worker.registration;
                const load = loads.get(id);
                const says = `${id}: ${spoken(worker.state)}, ${inUse(worker, load)}${load ? ' slots in use' : ''}`;
                return (
                  <li key={id}>
                    <a class={worker.state === 'ONLINE' ? undefined : roleOf(worker.state)} href={href('workers', id)} title={says} aria-label={says}>
                      {load && <i style={{ height: `${(100 * load.executing) / Math.max(worker.caps.max_execute, 1)}%` }} />}
                    </a>
                  </li>
                );
              })}
            </ul>
          </div>
        ))}
      </div>
    </Section>
  );
}
