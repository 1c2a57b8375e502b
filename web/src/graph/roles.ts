// Colors of roles on a canvas, from the tokens of the theme.
import { useEffect, useState } from 'preact/hooks';
import type { Role } from '../design/state';

const tokens: Record<Role, string> = {
  failed: '--failed',
  timeout: '--failed',
  partial: '--failed',
  person: '--person',
  paused: '--person',
  waiting: '--waiting-quiet',
  running: '--running',
  done: '--done-quiet',
  skipped: '--idle-quiet',
  upstream: '--idle',
  canceled: '--idle',
  plan: '--idle-quiet',
  unknown: '--line-2',
};

// loud roles are drawn last, never smaller than four pixels, with a halo.
export const loud = (role: Role | undefined) => role === 'failed' || role === 'timeout' || role === 'person';
export const isFailed = (role: Role | undefined) => role === 'failed' || role === 'timeout';

export const colorOf = (styles: CSSStyleDeclaration, role: Role | undefined): string => styles.getPropertyValue(tokens[role ?? 'unknown'] ?? '--line-2').trim();

// useTheme changes with the colors of the page.
export function useTheme(): number {
  const [theme, set] = useState(0);
  useEffect(() => {
    const changed = () => set((n) => n + 1);
    const themed = new MutationObserver(changed);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', changed);
    return () => {
      themed.disconnect();
      dark.removeEventListener('change', changed);
    };
  }, []);
  return theme;
}
