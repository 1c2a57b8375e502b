// A page outside the first bundle is its own file. It is loaded when the browser is idle, so that it is
// available while the server is down.
import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure } from './ui';

const soon = (read: () => void) => {
  if (typeof window === 'undefined') return; // The modules also run without a browser.
  if ('requestIdleCallback' in window) requestIdleCallback(read, { timeout: 5000 });
  else setTimeout(read, 1000);
};

// later returns a component that is loaded at its first use or in idle time. A big one is loaded when used.
// height is the room kept for it, in pixels; a component of height 0 is not announced.
export function later<P extends object>(read: () => Promise<ComponentType<P>>, big = false, height?: number): ComponentType<P> {
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
  if (!big) soon(() => void fetched().catch(() => {}));
  return function Later(props: P) {
    const [, done] = useState(false);
    const [error, failed] = useState<unknown>();
    const missing = !found;
    useEffect(() => {
      // It may have come between the first drawing and this.
      if (missing) fetched().then(() => done(true), failed);
    }, []);
    if (found) return h(found as ComponentType<object>, props);
    if (error !== undefined) return <Failure error={error} what="This page cannot be loaded; open it again" />;
    if (height === 0) return null;
    return (
      <p class="empty loading" aria-busy="true" style={{ minHeight: height && `${height}px` }}>
        Loading the page…
      </p>
    );
  };
}
