// A timeline with each look and role, for the page of components.
import { useNow } from '../time';
import type { Bar, Row } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

const minute = 60_000;

export function Sample({ label }: { label: string }) {
  const now = Math.floor(useNow() / minute) * minute;
  const bar = (role: string, from: number, to: number | undefined, look: Bar['look'] = 'past'): Bar => ({
    id: `${role} ${look} ${from}`,
    role,
    look,
    from: now + from * minute,
    to: to === undefined ? undefined : now + to * minute,
    text: `${role}, ${look}`,
    href: '#/design',
    short: role,
  });
  const rows: Row[] = [
    { id: 'a', name: 'vacuum', bars: [bar('done', -50, -30), bar('failed', -28, -18), bar('running', -12, undefined), bar('plan', 0, 8, 'forecast'), bar('plan', 20, 28, 'plan')] },
    { id: 'b', name: 'nightly', bars: [bar('plan', -55, -35, 'closed'), bar('person', -20, undefined), bar('waiting', -32, -21), bar('skipped', 12, 16, 'plan')] },
  ];
  return <Timeline label={label} rows={rows} whole={{ from: now - hour, to: now + hour / 2 }} foot={<Legend of={['done', 'failed', 'running', 'waiting', 'plan', 'forecast']} />} />;
}

const hour = 60 * minute;
