// A link for the next shift: the address with its filters, order and row, the instant it is about and its zone, the hidden
// columns, and the zoom of a timeline.
import { useEffect, useState } from 'preact/hooks';
import { viewed } from '../clock';
import { hrefWith, param, type Route, setParams } from '../route';
import { exact, zoneOf } from '../time';
import './handover.css';

// link is the address of this view at this time.
export function link(): string {
  const of = (selector: string, name: string) => document.querySelector<HTMLElement>(`main ${selector}`)?.dataset[name] ?? '';
  const here = hrefWith({
    at: new Date(viewed()).toISOString(), // A run that has just started is part of the view.
    row: of('.rows .row.at', 'row') || (param('row') ?? ''),
    zone: zoneOf(),
    hidden: of('.rows', 'hidden'),
    zoom: of('.timeline', 'zoom'),
  });
  return `${location.origin}${location.pathname}${here}`;
}

export function HandOver({ route }: { route: Route }) {
  const at = route.params.get('at') ?? '';
  const [said, say] = useState('');
  const copy = async () => {
    const address = link();
    try {
      await navigator.clipboard.writeText(address);
      say('The link is copied. It shows this view as of now.');
    } catch {
      say(address); // A page without TLS has no clipboard: the link can be selected.
    }
  };
  useEffect(() => {
    const press = () => void copy();
    addEventListener('copy-link', press);
    return () => removeEventListener('copy-link', press);
  });
  useEffect(() => {
    if (!said.startsWith('The link')) return;
    const done = setTimeout(() => say(''), 6000);
    return () => clearTimeout(done);
  }, [said]);
  return (
    <>
      {!Number.isNaN(Date.parse(at)) && (
        <p class="asof" role="note">
          <strong>As of {exact(at)}</strong>
          <span>Times count from then; runs that started later are left out. States and counts are those of now.</span>
          <button type="button" onClick={() => setParams({ at: '', row: '', zone: '', hidden: '', zoom: '' })}>
            Show now
          </button>
        </p>
      )}
      <p class="toast" role="status">
        {said}
      </p>
    </>
  );
}
