// The bar above each page: where the page is, whether it is live, the zone of all times, and the colors.
import { createPortal, useLayoutEffect, useState } from 'preact/compat';
import { useEffect } from 'preact/hooks';
import { clock } from '../clock';
import { useConnection } from '../connection';
import { Menu } from '../menu';
import { store, stored } from '../stored';
import { setDensity, useDensity } from '../table/density';
import { place, setZone, told, useTold, useZone, zones } from '../time';

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

// useAge is the age of the data on the page, or nothing while they are live.
export function useAge(): string {
  const { lost, since } = useConnection();
  return useTold(() => (lost ? told(Math.max(clock() - since, 0)) : ''));
}

function Live() {
  const age = useAge();
  return <span class={age ? 'live stale' : 'live'}>{age ? `As of ${age}` : 'Live'}</span>;
}

// Zone chooses the zone of all times, and how high the rows of tables are.
function Zone() {
  const zone = useZone();
  const rows = useDensity();
  const [open, setOpen] = useState(false);
  return (
    <Menu look="settings" name={place(zone)} sign="i-globe" title={`Times are those of ${zone}`} onOpen={setOpen}>
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
    </Menu>
  );
}

const dark = matchMedia('(prefers-color-scheme: dark)');

// Colors changes between light and dark. The choice of the system is stored as none.
function Colors() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? stored('roundsman.theme') ?? '');
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    store('roundsman.theme', theme);
  }, [theme]);
  const system = dark.matches ? 'dark' : 'light';
  const next = (theme || system) === 'dark' ? 'light' : 'dark';
  return <button type="button" class="icon i-sun" aria-label={`Use ${next} colors`} title={`Use ${next} colors`} onClick={() => setTheme(next === system ? '' : next)} />;
}
