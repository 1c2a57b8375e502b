// Names of runs, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './source.mjs';

test('a run is named by its type and its start, and no two have one name', () =>
  sources(async (load) => {
    const { setZone } = await load('/src/time.tsx');
    const { runName } = await load('/src/names.tsx');
    setZone('UTC');
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const weekday = new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' });
    const compact = day.replaceAll('-', '');
    for (const [id, name] of [
      [`group/scrub-${day}T02:40:00Z`, `scrub ${weekday} 02:40`],
      [`group/scrub-${day}T02:40:13Z`, `scrub ${weekday} 02:40:13`],
      [`group/scrub-2024-02-03T02:40:00Z`, 'scrub 3 Feb 2024 02:40'],
      [`group/scrub-${day}T02:40:00Z/job-00001`, `scrub ${weekday} 02:40/job-00001`],
      [`group/log-rotate-detect-${compact}T024000-ab12cd34`, `log-rotate ${weekday} 02:40 dry run ab12`],
      [`group/log-rotate-adhoc-${compact}T024001-ab12cd34`, `log-rotate ${weekday} 02:40:01 submitted ab12`],
      ['group/claims-adhoc-ticket-4711', 'claims submitted ticket-4711'],
      [`dag/release/${compact}T024000-ab12cd34`, `release ${weekday} 02:40 ab12`],
      [`dag/release/${compact}T024000-ff12cd34`, `release ${weekday} 02:40 ff12`],
      ['dag/release/v1.14', 'release v1.14'],
      ['dag/release/v1.14/inner', 'release v1.14/inner'],
    ])
      assert.equal(runName(id), name);
  }));
