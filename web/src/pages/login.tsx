// The log-in, shown in place of a page when the server requires it. Afterwards the page returns.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'preact/hooks';
import { forgetDialogs } from '../action';
import { get, Problem, problemOf } from '../api';
import { login } from '../connection';
import { client } from '../data';
import { forgetDrafts } from '../draft';
import { forgetPlaces } from '../place';
import { store, stored } from '../stored';
import { stream } from '../stream';
import type { Me } from '../types';
import { Empty, Page } from '../ui';
import { upper } from '../words';
import './login.css';

const at = (path: string) => new URL(path, document.baseURI).pathname;
const backKey = 'roundsman.back';
const personKey = 'roundsman.person';

interface Ways {
  oidc: boolean;
  keys: boolean;
}

export function LogIn() {
  const ways = useQuery<Ways, Error>({ queryKey: ['auth/ways'], queryFn: async () => (await fetch(at('auth/ways'))).json() as Promise<Ways> });
  const [key, setKey] = useState('');
  const [error, setError] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const response = await fetch(at('auth/key'), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key: key.trim() }) });
      if (!response.ok) throw problemOf(response.status, await response.text());
      await entered();
    } catch (cause) {
      setError(cause instanceof Problem ? cause : new Problem(0, '', 'The control plane does not answer'));
    } finally {
      setBusy(false);
    }
  };
  const { oidc, keys } = ways.data ?? { oidc: false, keys: false };
  return (
    <>
      <p class="brand">Roundsman</p>
      <Page title="Log in" head={{ cause: `To the installation at ${location.host}` }}>
        {oidc && (
          <p>
            <a class="button primary" href={at('auth/login')} onClick={() => sessionStorage.setItem(backKey, location.hash)}>
              Log in with your organization
            </a>
          </p>
        )}
        {keys && (
          <form onSubmit={enter}>
            <div class="field">
              <label for="key">API key</label>
              <input id="key" type="password" required autocomplete="off" value={key} aria-describedby="key-hint" aria-invalid={error !== undefined || undefined} onInput={(e) => setKey(e.currentTarget.value)} />
              {error && (
                <p class="wrong" role="alert">
                  {upper(error.message)}.
                </p>
              )}
              <small id="key-hint">
                Begins with <code>rmk_</code>. Made by <code>roundsman keys create</code>.
              </small>
            </div>
            <div class="buttons">
              <button type="submit" class={oidc ? undefined : 'primary'} disabled={busy}>
                {oidc ? 'Log in with the key' : 'Log in'}
              </button>
            </div>
            <small>The session ends after 12 hours, or with the key.</small>
          </form>
        )}
        {ways.data && !oidc && !keys && <Empty>This server knows callers by their client certificates alone: choose one in the browser.</Empty>}
      </Page>
    </>
  );
}

// meet drops the stored state of this tab if another person logs in, also in another tab.
export const meet = ({ name }: Me) => {
  if ((stored(personKey, 'sessionStorage') ?? name) !== name) {
    forget();
    login.anew();
    fresh();
  }
  store(personKey, name, 'sessionStorage');
};
const known = (signal?: AbortSignal) => get<Me>('/me', signal).then(meet);

async function entered() {
  await known();
  login.set(false);
  fresh();
}

// fresh reads everything again: permissions may differ.
function fresh() {
  stream.restart();
  void client.resetQueries();
}

// back restores the page from before the visit to the identity provider.
export async function back() {
  const page = sessionStorage.getItem(backKey);
  if (page === null) return;
  sessionStorage.removeItem(backKey);
  if (location.hash === '') location.hash = page;
  await known(AbortSignal.timeout(5000)).catch(() => {}); // The page has the error, or meets the person later.
}

export async function logOut() {
  await fetch(at('auth/logout'), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  client.clear();
  login.set(true);
  stream.stop();
  sessionStorage.removeItem(backKey);
  forget();
}

function forget() {
  forgetDialogs();
  forgetDrafts();
  forgetPlaces();
}
