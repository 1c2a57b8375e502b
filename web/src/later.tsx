// A page that is no part of the first one is a file of its own. It is read as soon as the
// browser has nothing else to do: it must be here when the server is away.
import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure } from './ui';

const soon = (read: () => void) => {
  if ('requestIdleCallback' in window) requestIdleCallback(read, { timeout: 5000 });
  else setTimeout(read, 1000);
};

// later is a component that is read when it is used, or when there is time.
export function later<P extends object>(read: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | undefined;
  let reading: Promise<void> | undefined;
  const fetched = () => {
    reading ??= read().then(
      (component) => {
        found = component;
      },
      (cause) => {
        reading = undefined; // The next use tries again.
        throw cause;
      },
    );
    return reading;
  };
  soon(() => void fetched().catch(() => {}));
  return function Later(props: P) {
    const [, done] = useState(false);
    const [error, failed] = useState<unknown>();
    useEffect(() => {
      if (!found) fetched().then(() => done(true), failed);
    }, []);
    if (found) return h(found as ComponentType<object>, props);
    if (error !== undefined) return <Failure error={error} what="This page cannot be loaded; open it again" />;
    return (
      <p class="empty" aria-busy="true">
        Loading the page…
      </p>
    );
  };
}
