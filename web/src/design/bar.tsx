// The bar above each page: where the page is, whether it is live, the zone of all times, and the colors.
import { createPortal, useLayoutEffect, useState } from 'preact/compat';
import { useEffect, useRef } from 'preact/hooks';
import { useConnection } from '../connection';
import { setDensity, useDensity } from '../table/density';
import { place, setZone, span, useNow, useZone, zones } from '../time';

export const Bar = () => (
  <div class="bar" role="region" aria-label="View">
    <nav id="crumbs" aria-label="Breadcrumb" />
    <Live />
    <Zone />
    <button type="button" class="icon i-link" aria-label="Copy link" title="Copy a link to this view at this time: Y" onClick={() => dispatchEvent(new Event('copy-link'))} />
    <Colors />
  </div>
);

// Crumbs puts the way to a page into the bar.
export function Crumbs({ of, title }: { of: [string, string][]; title: string }) {
  const [host, found] = useState<Element | null>(null);
  useLayoutEffect(() => found(document.getElementById('crumbs')), []);
  return (
    host &&
    createPortal(
      <>
        {of.map(([name, address]) => (
          <a key={address} href={address}>
            {name}
          </a>
        ))}
        <span aria-current="page">{title}</span>
      </>,
      host,
    )
  );
}

function Live() {
  const { lost, since } = useConnection();
  const now = useNow();
  return <span class={lost ? 'live stale' : 'live'}>{lost ? `As of ${span(Math.max(now - since, 0))} ago` : 'Live'}</span>;
}

// Zone chooses the zone of all times, and how high the rows of tables are.
function Zone() {
  const zone = useZone();
  const rows = useDensity();
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event) => {
      if (event.type === 'pointerdown' ? menu.current?.contains(event.target as Node) : (event as KeyboardEvent).key !== 'Escape') return;
      if (!menu.current) return;
      menu.current.open = false;
      if (event.type === 'keydown') menu.current.querySelector('summary')?.focus();
    };
    for (const event of ['pointerdown', 'keydown']) addEventListener(event, close);
    return () => {
      for (const event of ['pointerdown', 'keydown']) removeEventListener(event, close);
    };
  }, [open]);
  return (
    <details class="settings" ref={menu} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="i-globe" title={`Times are those of ${zone}`}>
        {place(zone)}
      </summary>
      <div>
        <label>
          Time zone
          <select value={zone} onChange={(event) => setZone(event.currentTarget.value)}>
            {(open ? zones() : [zone]).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Rows
          <select value={rows} onChange={(event) => setDensity(event.currentTarget.value)}>
            <option value="">34 px</option>
            <option value="compact">compact, 28 px</option>
          </select>
        </label>
      </div>
    </details>
  );
}

const dark = matchMedia('(prefers-color-scheme: dark)');

// Colors changes between light and dark. The choice of the system is stored as none.
function Colors() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? stored());
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem('roundsman.theme', theme);
    } catch {
      // The choice lasts until the page is closed.
    }
  }, [theme]);
  const system = dark.matches ? 'dark' : 'light';
  const next = (theme || system) === 'dark' ? 'light' : 'dark';
  return <button type="button" class="icon i-sun" aria-label={`Use ${next} colors`} title={`Use ${next} colors`} onClick={() => setTheme(next === system ? '' : next)} />;
}

function stored(): string {
  try {
    return localStorage.getItem('roundsman.theme') ?? '';
  } catch {
    return '';
  }
}
