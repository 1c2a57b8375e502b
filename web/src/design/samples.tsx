// Parts that open, move or take text, with invented data, for the page of components.
import { useState } from 'preact/hooks';
import { Action, type Act, ask } from '../action';
import { pauseJobType } from '../acts/jobtypes';
import { Cells, grid } from '../graph/cells';
import { Picture } from '../graph/picture';
import { Menu } from '../menu';
import { Viewer } from '../output/output';
import { Palette } from '../palette';
import { type Form, Setting } from '../settings/fields';
import type { Patch } from '../settings/values';
import '../graph/graph.css';
import '../settings/settings.css';
import type { Drawing, Printed } from '../types';
import { Section } from '../ui';
import type { Role } from './state';

// The request of this dialog changes nothing.
const act: Act = { ...pauseJobType('nightly'), request: () => ({ method: 'GET', path: '/me' }) };

const search = (sheet: boolean) => ask({ show: (close) => <Palette sheet={sheet} close={close} />, holds: () => false });

const text = 'copying volume-1\n\u001b[32mok\u001b[0m 4.0 GiB\nwarning: the disk is nearly full\nERROR no space left on /data2\n';
const printed = (attempt: number): Printed => ({ run: 'group/copy', job: 'job-00001', state: 'failed', attempt, from: 'result', offset: 0, next: text.length, text });

const roles: Role[] = ['done', 'failed', 'running', 'person', 'plan'];
const states = Uint8Array.from({ length: 120 }, (_, i) => (i === 17 ? 1 : i === 60 ? 3 : i < 80 ? 0 : i < 96 ? 2 : 4));
const places = grid(states.length, 24);

// drawn has ids of their own in each theme.
const drawn = (theme: string): Drawing => {
  const box = (id: string, at: number, role: Role, x: number, y: number) => ({ id: `${id}-${theme}`, at, kind: 'command', state: role, role: role as Drawing['boxes'][0]['role'], tasks: 1, ended: 0, failed: 0, x, y, width: 150, height: 46 });
  return {
    width: 350,
    height: 170,
    boxes: [box('snapshot', 1, 'done', 0, 35), box('copy', 2, 'failed', 200, 0), box('go-ahead', 3, 'person', 200, 70)],
    edges: [
      { from: 0, to: 1, path: 'M150 58C175 58 175 23 200 23', critical: true },
      { from: 0, to: 2, path: 'M150 58C175 58 175 93 200 93' },
    ],
  };
};

export function Samples({ theme }: { theme: string }) {
  const [part] = useState(() => printed(theme === 'light' ? 1 : 2));
  const [cell, choose] = useState<number>();
  const [box, setBox] = useState('');
  const [patch, change] = useState<Patch>({ every: 'soon' });
  const form: Form = { schema: {}, inForce: { every: '1h' }, patch, change, faults: [{ path: 'every', message: '"soon" is not a duration' }] };
  return (
    <>
      <Section title="What opens">
        <p class="actions">
          <Action {...act} />
          <button type="button" onClick={() => search(false)}>
            Search
          </button>
          <button type="button" onClick={() => search(true)}>
            All keys
          </button>
          <button type="button" onClick={() => dispatchEvent(new Event('copy-link'))}>
            Copy link
          </button>
          <Menu look="columns" name="Columns">
            <label>
              <input type="checkbox" checked /> State
            </label>
          </Menu>
        </p>
        <details class="lines">
          <summary>In a terminal</summary>
          <code>roundsman pause nightly</code>
        </details>
        <p class="banner">The control plane does not answer. What you see is as of 12 s ago.</p>
      </Section>
      <Section title="A setting with a fault">
        <Setting form={form} path={['every']} schema={{ type: 'string', description: 'The time between two runs.' }} />
      </Section>
      <Section title="Output">
        <Viewer part={part} path="" failed attempts={false} end="" />
      </Section>
      <Section title="Map">
        <Cells places={places} states={states} roles={roles} label={`A map, ${theme}`} height={140} active={cell} choose={choose} open={choose} tell={(item) => `Task ${item + 1}`} />
      </Section>
      <Section title="Graph">
        <Picture drawing={drawn(theme)} label={`A graph, ${theme}`} acting={{ active: box, choose: setBox, chosen: 0, open: (one) => setBox(one.id), href: () => '#/design' }} />
      </Section>
    </>
  );
}
